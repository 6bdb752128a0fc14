package collection

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"conclave/corpus"
)

// AddExpert encodes all passages of the collection in dir with another expert
// and adds its two files to each segment. Nothing else is written; until the
// new manifest is there, readers see the collection as it was. Of the options,
// Index, Questions, Threads, BatchPassages and Progress count.
func AddExpert(ctx context.Context, dir string, encoder PassageEncoder, o BuildOptions) (report Report, err error) {
	w, err := OpenWriter(dir)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return w.AddExpert(ctx, encoder, o)
}

// AddExpert is the function AddExpert, for a writer that is open.
func (w *Writer) AddExpert(ctx context.Context, encoder PassageEncoder, o BuildOptions) (report Report, err error) {
	o.Experts = []PassageEncoder{encoder}
	if err := o.complete(); err != nil {
		return report, err
	}
	index, err := completeIndex(o.Index)
	if err != nil {
		return report, err
	}
	if err := w.built(); err != nil {
		return report, err
	}
	m := w.snapshot()
	if has := m.expert(encoder.Name()); has != nil {
		return report, fault(ErrHasVectors, w.dir, has.Name, "%s has vectors of expert %q already, made by the encoder %s: take them out first", w.dir, has.Name, short(has.Fingerprint))
	}
	x := describeExpert(encoder, index)
	files, made := map[string]segmentExpert{}, w.draft() // files by segment
	defer func() {
		made.discard()
		err = explainDisk(err)
	}()
	r := &reporter{to: o.Progress}
	all := m.passages()
	for i := range m.Segments {
		s := &m.Segments[i]
		// Stages of several segments are shown as one: passages encoded so far.
		before := int64(report.Passages)
		inner := &reporter{to: func(p Progress) {
			if p.Unit == "passages" || p.Unit == "vectors" {
				p.Done, p.Total = p.Done+before, int64(all)
			}
			r.report(p)
		}}
		built, err := w.addExpertTo(ctx, made, s, x, encodedBy(encoder, o), o, inner)
		if err != nil {
			return report, err
		}
		files[s.Name] = built
		report.Passages += s.Passages
		for _, f := range built.files() {
			report.Bytes += f.Size
		}
	}
	after, err := w.publish(ctx, made, func(m *manifest) error {
		m.Experts = append(m.Experts, x)
		for i := range m.Segments {
			built, ok := files[m.Segments[i].Name]
			if !ok {
				return fmt.Errorf("segment %s came while expert %s was being added: start again", m.Segments[i].Name, x.Name)
			}
			m.Segments[i].Experts = append(m.Segments[i].Experts, built)
		}
		return nil
	})
	if err != nil {
		return report, err
	}
	report.Generation = after.Generation
	report.Recall = map[string]Recall{x.Name: joined(after.Segments, x.Name)}
	return report, nil
}

func (w *Writer) addExpertTo(ctx context.Context, made *draft, s *segmentManifest, x expertManifest, vectorsOf vectorMaker, o BuildOptions, r *reporter) (built segmentExpert, err error) {
	dir := filepath.Join(w.dir, s.Name)
	store, err := corpus.OpenStore(sealedDisk{w.disk, s.files()}, filepath.Join(dir, s.Store.Name))
	if err != nil {
		return built, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if built, err = buildExpert(ctx, w.disk, dir, store, x, vectorsOf, w.number(), o, r); err != nil {
		return built, err // and has left nothing
	}
	for _, f := range built.files() {
		made.add(s.Name, f.Name)
	}
	return built, w.sealFiles(ctx, dir, built.files(), r)
}

// RemoveExpert takes an expert out of the collection in dir. Readers that have
// its files open keep them until they release their generation.
func RemoveExpert(ctx context.Context, dir, name string) (err error) {
	w, err := OpenWriter(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return w.RemoveExpert(ctx, name)
}

// RemoveExpert is the function RemoveExpert, for a writer that is open.
func (w *Writer) RemoveExpert(ctx context.Context, name string) error {
	if w.snapshot().expert(name) == nil {
		return fmt.Errorf("%s has no vectors of expert %q", w.dir, name)
	}
	_, err := w.publish(ctx, w.draft(), func(m *manifest) error {
		m.Experts = slices.DeleteFunc(m.Experts, func(x expertManifest) bool { return x.Name == name })
		for i := range m.Segments {
			s := &m.Segments[i]
			s.Experts = slices.DeleteFunc(s.Experts, func(x segmentExpert) bool { return x.Name == name })
		}
		return nil
	})
	return err
}
