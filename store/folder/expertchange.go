package folder

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// addExpert encodes all passages with an encoder, adds its vectors to every segment, and publishes them in one
// generation. An encoder that searches the vectors of another expert only gets an entry in the manifest. It returns
// ErrHasVectors if there is an expert of that name, and ErrNoOwner if the encoder's owner is missing.
func (w *writer) addExpert(
	ctx context.Context,
	encoder store.PassageEncoder,
	o store.BuildOptions,
) (store.BuildReport, error) {
	o.Experts = []store.PassageEncoder{encoder}
	if err := o.Complete(); err != nil {
		return store.BuildReport{}, err
	}
	index, err := completeIndex(o.Index)
	if err != nil {
		return store.BuildReport{}, err
	}
	if has := w.snapshot().Expert(encoder.Name()); has != nil {
		return store.BuildReport{}, fault(
			ErrHasVectors, w.dir, has.Name,
			"%s has vectors of expert %q already, made by the encoder %s: remove them first", w.dir, has.Name,
			manifest.Short(has.Fingerprint),
		)
	}
	x := describeExpert(encoder, index)
	plan := *w.snapshot()
	plan.Experts = append(slices.Clone(plan.Experts), x)
	if err := checkOwners(&plan, w.dir); err != nil {
		return store.BuildReport{}, err
	}
	if x.Owner != "" {
		return w.addBorrower(ctx, x)
	}
	type extended struct {
		expert *manifest.SegmentExpert
		reads  *manifest.Reads // nil: it has them, or they are not known
	}
	report, after, err := extend(ctx, w, o, extension[extended]{
		stage: func(p store.Progress) bool { return p.Unit == "passages" || p.Unit == "vectors" },
		build: func(made *draft, dir string, texts *corpus.Store, r *reporter) (out extended, files []*manifest.SegmentFile,
			err error) {
			built, err := buildExpert(ctx, w.disk, dir, texts, x, encodedBy(encoder, o), w.number(), o, r)
			if err != nil {
				return out, nil, err // and has left nothing
			}
			files = built.Files()
			out.expert = &built
			if s := w.snapshot().Segment(filepath.Base(dir)); s != nil && s.Reads == nil {
				out.reads, err = w.lookAt(ctx, dir, texts, encoder)
				files = append(files, out.reads.Files()...)
			}
			for _, f := range files {
				made.paths = append(made.paths, filepath.Join(dir, f.Name))
			}
			return out, files, err
		},
		enlist: func(m *manifest.Manifest) { m.Experts = append(m.Experts, x) },
		assign: func(s *manifest.Segment, built extended) {
			s.Experts = append(s.Experts, *built.expert)
			if built.reads != nil {
				s.Reads = built.reads
			}
		},
	})
	if err == nil {
		report.Recall[x.Name] = joined(after.Segments, x.Name)
	}
	return report, err
}

// lookAt writes how an encoder reads the passages of a segment (how many tokens, what it cuts) and returns the files.
// It returns nil if the encoder cannot tell. The caller calls it for a segment without these. dir is the segment's
// folder. It fails if a passage cannot be read, or writing does.
func (w *writer) lookAt(
	ctx context.Context,
	dir string,
	texts passages,
	encoder store.PassageEncoder,
) (*manifest.Reads, error) {
	reads, known, err := readBy([]store.PassageEncoder{encoder})(ctx, texts)
	if err != nil || !known {
		return nil, err
	}
	return writeReads(w.disk, dir, reads, texts.Len(), w.number)
}

// addBorrower adds an expert that has no vectors and searches those of x.Owner. Only the manifest changes. It fails
// if the first build was not completed or the manifest cannot be published.
func (w *writer) addBorrower(ctx context.Context, x manifest.Expert) (report store.BuildReport, err error) {
	if err := w.checkBuilt(); err != nil {
		return report, err
	}
	after, err := w.publish(ctx, w.draft(), func(m *manifest.Manifest) error {
		m.Experts = append(m.Experts, x)
		return nil
	})
	if err != nil {
		return report, err
	}
	return store.BuildReport{
		Generation: after.Generation,
		Recall:     map[string]store.Recall{x.Name: joined(after.Segments, x.Owner)},
	}, nil
}

// removeExpert publishes a generation without the expert and its vectors; their files are removed when no generation
// uses them. It fails if there is none of that name, or another expert searches its vectors (ErrIsOwner).
func (w *writer) removeExpert(ctx context.Context, name string) error {
	if w.snapshot().Expert(name) == nil {
		return fmt.Errorf("%s has no vectors of expert %q", w.dir, name)
	}
	for _, x := range w.snapshot().Experts {
		if x.Owner == name {
			return fault(
				ErrIsOwner, w.dir, x.Name,
				"expert %[3]q searches the vectors of expert %[1]q in %[2]s: remove %[3]q first", name, w.dir, x.Name,
			)
		}
	}
	_, err := w.publish(ctx, w.draft(), func(m *manifest.Manifest) error {
		m.Experts = slices.DeleteFunc(m.Experts, func(x manifest.Expert) bool { return x.Name == name })
		for i := range m.Segments {
			s := &m.Segments[i]
			s.Experts = slices.DeleteFunc(s.Experts, func(x manifest.SegmentExpert) bool { return x.Name == name })
		}
		return nil
	})
	return err
}
