package presenting

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/storage"
)

// AddFacets adds the facets of the plan to the response: the most frequent values of a field, or its ranges, among all
// passages that the filter lets through and among the candidates. It does nothing if the request asks for none. It
// fails if the store cannot count values, or if the answer becomes too large.
func (a *Page) AddFacets(ctx context.Context) error {
	if len(a.answer.Plan.Facets) == 0 {
		return nil
	}
	counter, ok := a.answer.Found.View.Narrowed.(storage.FacetCounter)
	if !ok {
		return fmt.Errorf("the store counts no values of fields")
	}
	found := make([]map[conditions.Value]int, len(a.answer.Plan.Facets))
	for i := range found {
		found[i] = map[conditions.Value]int{}
	}
	candidates := slices.Sorted(slices.Values(a.answer.Table.Ordinals()))
	err := candidateFields(ctx, a.answer.Ranking, a.takeRoom, slices.Compact(candidates), func(_ int, p *corpus.Passage) {
		for i, f := range a.answer.Plan.Facets {
			if v, ok := conditions.ValueOf(p.Metadata[f.Field]); ok {
				found[i][v]++
			}
		}
	})
	if err != nil {
		return err
	}
	for i, f := range a.answer.Plan.Facets {
		size := f.Size
		if hasRanges(&f) {
			size = mostInRanges
		}
		facet, err := counter.Facet(ctx, f.Field, size)
		if err != nil {
			return fmt.Errorf("counting the values of %s: %w", wording.Quote(f.Field), err)
		}
		facet.Field = f.Field
		facet.Candidates = []storage.FacetValue{}
		for v, n := range found[i] {
			facet.Candidates = append(facet.Candidates, storage.FacetValue{Value: v, Count: n})
		}
		storage.SortFacet(facet.Candidates)
		if hasRanges(&f) {
			facet.Approximate = facet.Approximate || facet.Other > 0
			var outside int
			facet.Selected, outside = rangesOf(&f, facet.Selected)
			facet.Other += outside
			facet.Candidates, _ = rangesOf(&f, facet.Candidates)
		}
		facet.Candidates = facet.Candidates[:min(len(facet.Candidates), f.Size)]
		a.Response.Facets = append(a.Response.Facets, facet)
		if err := a.answer.Grow(answering.ResultBytes * (len(facet.Selected) + len(facet.Candidates))); err != nil {
			return err
		}
	}
	return nil
}
