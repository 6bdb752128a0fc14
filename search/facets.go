package search

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/storage"
)

// FacetRequest asks how many passages have each value of a field.
type FacetRequest struct {
	Field string `json:"field"`
	Size  int    `json:"size,omitempty"` // values that are listed; 0: 10
}

const (
	usualFacet = 10
	mostFacet  = 1000
	mostFacets = 16
)

func (p *plan) planFacets(r *Request, wrong *fault.Problems) {
	p.facets = slices.Clone(r.Facets)
	if len(p.facets) > mostFacets {
		wrong.Add("out_of_range", "/facets", "there are %d facets: at most %d are allowed", len(p.facets), mostFacets)
	}
	for i := range p.facets {
		at := wording.Pointer("/facets", i)
		checkField(wrong, at+"/field", p.facets[i].Field)
		p.facets[i].Size = wrong.Count(at+"/size", p.facets[i].Size, usualFacet, mostFacet)
	}
}

// addFacets counts values of fields.
func (a *answer) addFacets(ctx context.Context) error {
	if len(a.plan.facets) == 0 {
		return nil
	}
	of, ok := a.found.View.Narrowed.(storage.Faceted)
	if !ok {
		return fmt.Errorf("the store counts no values of fields")
	}
	found := make([]map[conditions.Value]int, len(a.plan.facets))
	for i := range found {
		found[i] = map[conditions.Value]int{}
	}
	candidates := slices.Sorted(slices.Values(a.table.Ordinals()))
	err := a.candidateFields(ctx, slices.Compact(candidates), func(_ int, p *corpus.Passage) {
		for i, f := range a.plan.facets {
			if v, ok := conditions.ValueOf(p.Metadata[f.Field]); ok {
				found[i][v]++
			}
		}
	})
	if err != nil {
		return err
	}
	for i, f := range a.plan.facets {
		facet, err := of.Facet(ctx, f.Field, f.Size)
		if err != nil {
			return fmt.Errorf("counting the values of %s: %w", wording.Quote(f.Field), err)
		}
		facet.Field = f.Field
		facet.Candidates = []storage.FacetValue{}
		for v, n := range found[i] {
			facet.Candidates = append(facet.Candidates, storage.FacetValue{Value: v, Count: n})
		}
		storage.SortFacet(facet.Candidates)
		facet.Candidates = facet.Candidates[:min(len(facet.Candidates), f.Size)]
		a.response.Facets = append(a.response.Facets, facet)
		if err := a.grow(resultBytes * (len(facet.Selected) + len(facet.Candidates))); err != nil {
			return err
		}
	}
	return nil
}
