package collection

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"conclave/corpus"
)

// addExpert is AddExpert.
func (w *writer) addExpert(ctx context.Context, encoder PassageEncoder, o BuildOptions) (BuildReport, error) {
	o.Experts = []PassageEncoder{encoder}
	if err := o.complete(); err != nil {
		return BuildReport{}, err
	}
	index, err := completeIndex(o.Index)
	if err != nil {
		return BuildReport{}, err
	}
	if has := w.snapshot().expert(encoder.Name()); has != nil {
		return BuildReport{}, fault(ErrHasVectors, w.dir, has.Name, "%s has vectors of expert %q already, made by the encoder %s: take them out first", w.dir, has.Name, short(has.Fingerprint))
	}
	x := describeExpert(encoder, index)
	report, after, err := extend(ctx, w, o, extension[*segmentExpert]{
		stage: func(p Progress) bool { return p.Unit == "passages" || p.Unit == "vectors" },
		build: func(made *draft, dir string, store *corpus.Store, r *reporter) (*segmentExpert, []*fileManifest, error) {
			built, err := buildExpert(ctx, w.disk, dir, store, x, encodedBy(encoder, o), w.number(), o, r)
			if err != nil {
				return nil, nil, err // and has left nothing
			}
			for _, f := range built.files() {
				made.paths = append(made.paths, filepath.Join(dir, f.Name))
			}
			return &built, built.files(), nil
		},
		enlist: func(m *manifest) { m.Experts = append(m.Experts, x) },
		assign: func(s *segmentManifest, built *segmentExpert) { s.Experts = append(s.Experts, *built) },
	})
	if err == nil {
		report.Recall[x.Name] = joined(after.Segments, x.Name)
	}
	return report, err
}

// removeExpert is RemoveExpert.
func (w *writer) removeExpert(ctx context.Context, name string) error {
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
