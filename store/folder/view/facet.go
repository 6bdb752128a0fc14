package view

import (
	"context"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/search/storage"
	"example.org/conclave/store/folder"
)

// Facet counts the values of a field over all passages, and returns the size most frequent ones. It fails if a file
// is damaged.
func (v pinnedView) Facet(_ context.Context, field string, size int) (storage.Facet, error) {
	return facet(v.generation, nil, field, size)
}

// Facet counts the values of a field over the selected passages, and returns the size most frequent ones. It fails if
// a file is damaged.
func (a among) Facet(_ context.Context, field string, size int) (storage.Facet, error) {
	return facet(a.generation, a.selection, field, size)
}

// facet returns the size most frequent values of a field in the passages of a selection, equally frequent ones in the
// order of storage.SortFacet, and as Other how often the remaining ones occur. A nil selection stands for all passages.
// It fails for a damaged index.
func facet(g *folder.Generation, s *folder.Selection, field string, size int) (out storage.Facet, err error) {
	counts, err := g.Counts(s, field)
	if err != nil {
		return out, err
	}
	out.Selected = make([]storage.FacetValue, len(counts))
	for i, c := range counts {
		v := storage.FacetValue{Count: c.Count, Value: conditions.Text(c.Text)}
		switch c.Kind {
		case conditions.Numbers:
			v.Value = conditions.Number(conditions.KeyNumber(c.Key))
		case conditions.Bools:
			v.Value = conditions.Bool(c.Key != 0)
		}
		out.Selected[i] = v
		out.Other += c.Count
	}
	storage.SortFacet(out.Selected)
	out.Selected = out.Selected[:min(size, len(out.Selected))]
	for _, v := range out.Selected {
		out.Other -= v.Count
	}
	return out, nil
}
