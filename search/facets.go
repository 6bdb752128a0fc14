package search

import (
	"slices"

	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/plan"
)

const (
	usualFacet = 10   // the values of a facet if the request does not say
	mostFacet  = 1000 // the greatest number of values of a facet
	mostFacets = 16   // the greatest number of facets of a request
)

// planFacets checks the facets of a request and sets them in the plan, with default sizes. It adds problems to wrong.
func planFacets(p *plan.Plan, r *Request, wrong *fault.Problems) {
	p.Facets = slices.Clone(r.Facets)
	if len(p.Facets) > mostFacets {
		wrong.Add("out_of_range", "/facets", "there are %d facets: at most %d are allowed", len(p.Facets), mostFacets)
	}
	for i := range p.Facets {
		at := wording.Pointer("/facets", i)
		checkField(wrong, at+"/field", p.Facets[i].Field)
		p.Facets[i].Size = wrong.Count(at+"/size", p.Facets[i].Size, usualFacet, mostFacet)
	}
}
