package search

import (
	"math"
	"slices"

	"example.org/conclave/internal/wording"
	"example.org/conclave/search/ask"
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
		f := &p.Facets[i]
		usual := usualFacet
		if f.Width != 0 || f.Period != "" {
			usual = mostFacet
		}
		f.Size = wrong.Count(at+"/size", f.Size, usual, mostFacet)
		if f.Width != 0 && !(f.Width > 0 && f.Width <= math.MaxFloat32) {
			wrong.Add("out_of_range", at+"/width", "width is %v: it has to be above 0", f.Width)
		}
		fault.OneOf(wrong, at+"/period", f.Period, "", []string{"", ask.PeriodYear, ask.PeriodMonth, ask.PeriodDay})
		if f.Width != 0 && f.Period != "" {
			wrong.Add("unused_option", at+"/period", "width makes ranges of numbers, and period of dates: leave out one")
		}
	}
}
