package fusion

import (
	"cmp"
	"math"
	"slices"
)

// Familiarity returns the mean of the nearest highest products, or of all if there are fewer; 0 if there are none. It
// sorts products in place, the highest first.
func Familiarity(products []float32, nearest int) float64 {
	if len(products) == 0 || nearest < 1 {
		return 0
	}
	slices.SortFunc(products, func(a, b float32) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	products = products[:min(nearest, len(products))]
	sum := 0.0
	for _, p := range products {
		sum += float64(p)
	}
	return sum / float64(len(products))
}

// Rivals sets Rival of each source, in place, to the highest familiarity among the specialists other than itself; 0 if
// there are none.
func Rivals(sources []ObservedSource) {
	for i := range sources {
		highest := math.Inf(-1)
		for j, other := range sources {
			if j != i && other.Kind == Specialist {
				highest = max(highest, other.Familiarity)
			}
		}
		if math.IsInf(highest, 0) {
			highest = 0
		}
		sources[i].Rival = highest
	}
}

// MostFamiliar returns the sources, in their order, without all specialists but the `most` most familiar with the
// question; of equally familiar ones the first stay. The others add little: the near ones and the base know as much of
// a distant domain (docs/evidence/experts.md has the table). It returns the argument itself if there are no more than
// that; otherwise a new slice.
func MostFamiliar(sources []ObservedSource, most int) []ObservedSource {
	var specialists []int
	for i, s := range sources {
		if s.Kind == Specialist {
			specialists = append(specialists, i)
		}
	}
	if len(specialists) <= most {
		return sources
	}
	slices.SortStableFunc(
		specialists, func(a, b int) int { return cmp.Compare(sources[b].Familiarity, sources[a].Familiarity) },
	)
	passedOver := specialists[max(most, 0):]
	kept := make([]ObservedSource, 0, len(sources)-len(passedOver))
	for i, s := range sources {
		if !slices.Contains(passedOver, i) {
			kept = append(kept, s)
		}
	}
	return kept
}
