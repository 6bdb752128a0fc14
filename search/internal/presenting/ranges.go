package presenting

import (
	"math"
	"slices"
	"time"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/storage"
)

// mostInRanges is how many different values of a field are counted for its ranges: those of the most passages.
const mostInRanges = 10_000

// periods are the ranges of dates, by the name of a period: how a date is written that begins one, and the years,
// months and days of one.
var periods = map[string]struct {
	layout              string
	years, months, days int
}{
	ask.PeriodYear: {"2006", 1, 0, 0}, ask.PeriodMonth: {"2006-01", 0, 1, 0}, ask.PeriodDay: {time.DateOnly, 0, 0, 1},
}

// hasRanges reports whether a facet has ranges in the place of values.
func hasRanges(f *ask.FacetRequest) bool { return f.Width != 0 || f.Period != "" }

// rangesOf returns the ranges of a facet that values are in, in ascending order and at most f.Size, with the sum of the
// counts in each. outside is the sum of the counts of values that are in none of these.
func rangesOf(f *ask.FacetRequest, values []storage.FacetValue) (ranges []storage.FacetValue, outside int) {
	at := map[conditions.Value]int{}
	ranges = []storage.FacetValue{}
	for _, v := range values {
		from, to, ok := rangeOf(f, v.Value)
		if !ok {
			outside += v.Count
			continue
		}
		i, known := at[from]
		if !known {
			i = len(ranges)
			at[from] = i
			ranges = append(ranges, storage.FacetValue{Value: from, To: &to})
		}
		ranges[i].Count += v.Count
	}
	slices.SortFunc(ranges, func(a, b storage.FacetValue) int {
		return storage.CompareValues(a.Value.Any(), b.Value.Any())
	})
	for _, r := range ranges[min(f.Size, len(ranges)):] {
		outside += r.Count
	}
	return ranges[:min(f.Size, len(ranges))], outside
}

// rangeOf returns the beginning of the range that a value is in, and where it ends. ok is false for a value that is no
// number, or no date, and for a number that is too large to tell its neighbours apart.
func rangeOf(f *ask.FacetRequest, v conditions.Value) (from, to conditions.Value, ok bool) {
	switch typed := v.Any().(type) {
	case float64:
		return numbersFrom(typed, f.Width)
	case string:
		if x, ok := conditions.ParseNumber(typed); ok && f.Width != 0 {
			return numbersFrom(x, f.Width)
		}
		period, dated := periods[f.Period]
		date, _, ok := conditions.ParseDate(typed)
		if !dated || !ok {
			return from, to, false
		}
		first, err := time.Parse(period.layout, date.Format(period.layout))
		next := first.AddDate(period.years, period.months, period.days)
		return conditions.Text(first.Format(period.layout)), conditions.Text(next.Format(period.layout)), err == nil
	}
	return from, to, false
}

// numbersFrom returns the range of a width that x is in; ok is false without a width, or if x plus the width is x.
func numbersFrom(x, width float64) (from, to conditions.Value, ok bool) {
	if width == 0 || x+width == x {
		return from, to, false
	}
	n := math.Floor(x / width)
	return conditions.Number(n * width), conditions.Number((n + 1) * width), true
}
