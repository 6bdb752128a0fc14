package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
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

// Facet counts the values of a field.
type Facet struct {
	Field string `json:"field"`
	// Selected counts all passages that the filter lets through, the most frequent values first; Other
	// is how many of them have a value that is not listed.
	Selected []FacetValue `json:"selected"`
	Other    int          `json:"other,omitempty"`
	// Approximate says that a store counted its shards by themselves, and may have missed some.
	Approximate bool `json:"approximate,omitempty"`
	// Candidates counts the passages that the sources found for the question.
	Candidates []FacetValue `json:"candidates"`
}

// FacetValue is a value and how many passages have it.
type FacetValue struct {
	Value conditions.Value `json:"value"` // a text, a number or a boolean
	Count int              `json:"count"`
}

// Faceted is implemented by Indexes that count values of fields.
type Faceted interface {
	// Facet counts the values of a field among the passages that can be found, and returns the most
	// frequent ones, as SortFacet orders them; Candidates is not for it.
	Facet(ctx context.Context, field string, size int) (Facet, error)
}

// SortFacet orders values by their counts, the highest first, and equal counts by the values.
func SortFacet(values []FacetValue) {
	slices.SortFunc(values, func(a, b FacetValue) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), compareValues(a.Value.Any(), b.Value.Any()),
			cmp.Compare(a.Value.String(), b.Value.String()))
	})
}

func (p *plan) planFacets(r *Request, wrong *problems) {
	p.facets = slices.Clone(r.Facets)
	if len(p.facets) > mostFacets {
		wrong.add("out_of_range", "/facets", "there are %d facets: at most %d are allowed", len(p.facets), mostFacets)
	}
	for i := range p.facets {
		at := wording.Pointer("/facets", i)
		wrong.field(at+"/field", p.facets[i].Field)
		p.facets[i].Size = wrong.count(at+"/size", p.facets[i].Size, usualFacet, mostFacet)
	}
}

// addFacets counts values of fields.
func (a *answer) addFacets(ctx context.Context) error {
	if len(a.plan.facets) == 0 {
		return nil
	}
	of, ok := a.view.narrowed.(Faceted)
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
		facet.Candidates = []FacetValue{}
		for v, n := range found[i] {
			facet.Candidates = append(facet.Candidates, FacetValue{v, n})
		}
		SortFacet(facet.Candidates)
		facet.Candidates = facet.Candidates[:min(len(facet.Candidates), f.Size)]
		a.response.Facets = append(a.response.Facets, facet)
		if err := a.grow(resultBytes * (len(facet.Selected) + len(facet.Candidates))); err != nil {
			return err
		}
	}
	return nil
}
