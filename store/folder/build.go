package folder

import (
	"context"
	"errors"
	"path/filepath"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// Build makes a collection in dir, which must not exist or be empty, from the passages of source. Readers see nothing
// before it is complete. If it fails or ctx ends, it removes what it made.
func Build(ctx context.Context, dir string, source store.Stream, o store.BuildOptions) (store.BuildReport, error) {
	return build(ctx, disk.OS{}, dir, source, o)
}

// build makes a collection of the passages of source in dir on the disk d. An empty o.Words takes BM25's defaults; with
// o.Empty it publishes a collection without passages and does not read source. It fails if dir holds a collection or
// anything else, source or an encoder fails, d cannot be written, or ctx ends; it then removes what it made.
func build(
	ctx context.Context,
	d disk.Disk,
	dir string,
	source store.Stream,
	o store.BuildOptions,
) (report store.BuildReport, err error) {
	if err := o.Complete(); err != nil {
		return report, err
	}
	if o.Words == (bm25.Params{}) {
		o.Words = bm25.DefaultParams()
	}
	index, err := completeIndex(o.Index)
	if err != nil {
		return report, err
	}
	before := exists(dir)
	w, err := createWriter(d, dir)
	if err != nil {
		return report, err
	}
	defer func() {
		if err != nil {
			w.discard(before)
		}
		err = errors.Join(err, w.Close())
	}()
	plan := *w.manifest
	plan.Words = manifest.WordsOf(o.Words)
	plan.Experts = nil
	for _, x := range o.Experts {
		plan.Experts = append(plan.Experts, describeExpert(x, index))
	}
	if err := checkOwners(&plan, dir); err != nil {
		return report, err
	}
	if o.Empty {
		m, err := w.publish(ctx, w.draft(), func(m *manifest.Manifest) error {
			m.Words, m.Experts = plan.Words, plan.Experts
			return nil
		})
		if err != nil {
			return report, err
		}
		report.Generation = m.Generation
		return report, nil
	}
	return w.addSegment(ctx, &plan, source, o)
}

// discard removes what a failed first build wrote, and the folder unless keepFolder. It removes nothing if a generation
// is published or may be.
func (w *writer) discard(keepFolder bool) {
	if w.manifest.Generation > 0 || w.trouble() != nil {
		return
	}
	// Errors are dropped: the build's own error is what matters, and whatever
	// stays is a generation 0 that the next build clears.
	entries, _ := w.disk.ReadDir(w.dir)
	for _, e := range entries {
		if name := e.Name(); isOurs(name) {
			_ = w.disk.RemoveAll(filepath.Join(w.dir, name))
		}
	}
	if !keepFolder {
		_ = w.disk.Remove(w.dir)
	}
}

// add adds the passages of source as a new segment and publishes it. It fails if changes are pending, the words would
// be analysed differently, the encoders are not those of the collection, source or an encoder fails, or ctx ends;
// nothing is published then.
func (w *writer) add(ctx context.Context, source store.Stream, o store.BuildOptions) (store.BuildReport, error) {
	if err := o.Complete(); err != nil {
		return store.BuildReport{}, err
	}
	if err := errors.Join(w.checkBuilt(), w.checkNonePending()); err != nil {
		return store.BuildReport{}, err
	}
	m := w.snapshot()
	if o.Words != (bm25.Params{}) && o.Words != m.Words.Params() {
		was, other := m.Words.Unlike(manifest.WordsOf(o.Words))
		return store.BuildReport{}, fault(
			ErrOtherWords, w.dir, "", "%s was built with %s, not %s: leave them out, or analyse all words anew", w.dir,
			was, other,
		)
	}
	if err := checkAnalyser(m, w.dir); err != nil {
		return store.BuildReport{}, err
	}
	if err := matchExperts(w.dir, m, o.Experts); err != nil {
		return store.BuildReport{}, err
	}
	return w.addSegment(ctx, m, source, o)
}

// matchExperts returns an error unless the encoders are exactly those of the collection's experts: same names,
// fingerprints, parts and owners. A segment without an expert's vectors would be invisible to that expert. dir is the
// collection's folder, for messages.
func matchExperts(dir string, m *manifest.Manifest, encoders []store.PassageEncoder) error {
	given := map[string]bool{}
	for _, x := range encoders {
		given[x.Name()] = true
		if err := matchExpert(dir, m, x); err != nil {
			return err
		}
		if has := m.Expert(x.Name()); has.Parts != (x.Parts() != nil) || has.Owner != x.Owner() {
			return fault(
				ErrOtherEncoder, dir, has.Name,
				"the encoder of expert %q does not fit the vectors in %s: its vectors are of parts of passages: %t, and owned by expert %q; in the collection: %t, %q",
				has.Name, dir, x.Parts() != nil, x.Owner(), has.Parts, has.Owner,
			)
		}
	}
	for _, x := range m.Experts {
		if !given[x.Name] {
			return fault(
				ErrNoEncoder, dir, x.Name, "%s has vectors of expert %q, so its encoder is needed to add passages", dir,
				x.Name,
			)
		}
	}
	return nil
}
