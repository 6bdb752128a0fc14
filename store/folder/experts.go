package folder

import (
	"errors"
	"strings"

	"example.org/conclave/ann"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// Experts returns a description of each expert of the collection, in the order they were given; nil if it has none.
// An expert that searches the vectors of another has that one's index, recall and rows.
func (g *Generation) Experts() []store.Expert {
	var out []store.Expert
	for _, x := range g.manifest.Experts {
		keeper := g.manifest.Keeper(x.Name)
		f := store.Expert{
			Name:        x.Name,
			Fingerprint: x.Fingerprint,
			Dimension:   x.Dimension,
			Index:       keeper.Index,
			Passages:    g.Len(),
			Parts:       keeper.Parts,
			Owner:       x.Owner,
		}
		f.Recall = joined(g.manifest.Segments, keeper.Name)
		for _, s := range g.segments {
			ix := s.vectors[keeper.Name]
			f.BytesPerVector += ix.BytesPerVector() * float64(s.store.Len()) / float64(max(g.total, 1))
			if grouped, ok := ix.(*ann.GroupedIndex); ok {
				f.Rows += grouped.Rows()
			} else {
				f.Rows += ix.Len()
			}
		}
		out = append(out, f)
	}
	return out
}

// CheckEncoders returns an error unless the collection has vectors of each of these encoders, made by that very
// encoder; the error names both sides. Experts of the collection that are not among the encoders are not searched, and
// no error.
func (g *Generation) CheckEncoders(encoders ...store.Encoder) error {
	var errs []error
	for _, x := range encoders {
		errs = append(errs, matchExpert(g.dir, g.manifest, x))
	}
	return errors.Join(errs...)
}

// matchExpert returns an ErrNoVectors fault if the collection has no vectors of an encoder's expert, and
// ErrOtherEncoder if another encoder made them. dir is the collection's folder, for messages.
func matchExpert(dir string, m *manifest.Manifest, x store.Encoder) error {
	has := m.Expert(x.Name())
	if has == nil {
		var names []string
		for _, x := range m.Experts {
			names = append(names, x.Name)
		}
		list := "none"
		if len(names) > 0 {
			list = strings.Join(names, ", ")
		}
		return fault(ErrNoVectors, dir, x.Name(), "%s has no vectors of expert %q (it has: %s)", dir, x.Name(), list)
	}
	if has.Fingerprint != x.Fingerprint() || has.Dimension != x.Dimension() {
		return fault(
			ErrOtherEncoder,
			dir,
			x.Name(),
			"the vectors of expert %q in %s were made by the passage encoder %s (%d numbers), and the one given is %s (%d numbers): questions of one do not fit the vectors of the other. "+
				"Use the bundle that made them, or encode again",
			x.Name(),
			dir,
			manifest.Short(has.Fingerprint),
			has.Dimension,
			manifest.Short(x.Fingerprint()),
			x.Dimension(),
		)
	}
	return nil
}

// CheckRecall returns an ErrLowRecall fault for each expert whose measured recall@10 is below the floor of its kind of
// index. floors has floors by kind; a kind that is absent has its own default.
func (g *Generation) CheckRecall(floors map[string]float64) error {
	var errs []error
	for _, x := range g.Experts() {
		if x.Owner != "" {
			continue
		}
		kind, err := ann.KindNamed(x.Index.Kind)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		floor, given := floors[kind.Name]
		if !given {
			floor = kind.Floor10
		}
		if x.Recall.Stored.At10 < floor {
			errs = append(
				errs,
				fault(
					ErrLowRecall, g.dir, x.Name,
					"the %s index of expert %q in %s finds only %.3f of the 10 nearest passages, %.3f is the least to be served with: build it again, with more candidates or as an exact one",
					kind.Name, x.Name, g.dir, x.Recall.Stored.At10, floor,
				),
			)
		}
	}
	return errors.Join(errs...)
}
