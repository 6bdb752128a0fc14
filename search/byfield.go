package search

import (
	"cmp"
	"math"
	"strconv"
	"time"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/plan"
)

const (
	usualBoost = 0.2 // Boost.Weight if the request does not say
	mostBoost  = 10
)

// planFields checks sort, boost and facets of a request and sets them in the plan. It adds problems to wrong.
func planFields(p *plan.Plan, r *Request, wrong *fault.Problems) {
	p.Sort, p.Boost = r.Sort, r.Boost
	planFacets(p, r, wrong)
	if r.Sort != (ask.Sort{}) {
		checkField(wrong, "/sort/field", r.Sort.Field)
		fault.OneOf(wrong, "/sort/order", r.Sort.Order, "asc", []string{"asc", "desc"})
		for name, given := range map[string]bool{
			"group_by": r.GroupBy != "", "rerank": r.Rerank.Wanted, "answer": r.Answer.Wanted,
		} {
			if given {
				wrong.Add("unused_option", "/sort", "sort orders by a field, and %s by something else: leave out one", name)
			}
		}
	}
	if r.Boost == (ask.Boost{}) {
		return
	}
	checkField(wrong, "/boost/field", r.Boost.Field)
	var ok bool
	p.HalfLife, ok = parseAge(r.Boost.HalfLife)
	if !ok {
		wrong.Add("out_of_range", "/boost/half_life",
			"half_life is %s: it has to be a number with h, d, w or y behind it, such as 90d, of a minute to 1000 years",
			wording.Quote(r.Boost.HalfLife))
	}
	p.Boost.Weight = cmp.Or(r.Boost.Weight, usualBoost)
	if !(p.Boost.Weight > 0 && p.Boost.Weight <= mostBoost) {
		wrong.Add("out_of_range", "/boost/weight", "weight is %v: it has to be above 0 and at most %d",
			r.Boost.Weight, mostBoost)
	}
}

// checkField adds a problem to w if the name of a metadata field is empty or too long.
func checkField(w *fault.Problems, pointer, name string) {
	if name == "" || len(name) > conditions.MaxFieldBytes {
		w.Add("out_of_range", pointer, "the field has %d bytes: it has to have 1 to %d", len(name), conditions.MaxFieldBytes)
	}
}

// parseAge parses a duration such as 12h, 90d, 8w or 2y. ok is false unless it is from a minute to 1000 years. A
// duration of more than 292 years is returned as the longest time.Duration.
func parseAge(s string) (age time.Duration, ok bool) {
	if s == "" {
		return 0, false
	}
	hours, known := map[byte]float64{'h': 1, 'd': 24, 'w': 7 * 24, 'y': 365.25 * 24}[s[len(s)-1]]
	n, err := strconv.ParseFloat(s[:len(s)-1], 64)
	hours *= n
	if !known || err != nil || !(hours >= 1./60 && hours <= 1000*365.25*24) {
		return 0, false
	}
	if hours > math.MaxInt64/float64(time.Hour) { // 292 years: so old is as old as that
		return math.MaxInt64, true
	}
	return time.Duration(hours * float64(time.Hour)), true
}
