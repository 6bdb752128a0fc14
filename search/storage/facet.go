package storage

import (
	"cmp"
	"context"
	"slices"

	"example.org/conclave/internal/conditions"
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
		return cmp.Or(cmp.Compare(b.Count, a.Count), CompareValues(a.Value.Any(), b.Value.Any()),
			cmp.Compare(a.Value.String(), b.Value.String()))
	})
}

// CompareValues orders two values of metadata.
func CompareValues(a, b any) int {
	x, y := sortKeyOf(a), sortKeyOf(b)
	return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.key, y.key), cmp.Compare(x.text, y.text))
}

// sortKey is a value in a form that is compared: first its kind, then its key, then its text.
type sortKey struct {
	kind int
	key  uint64
	text string
}

func sortKeyOf(value any) sortKey {
	v, _ := conditions.ValueOf(value)
	switch of := v.Any().(type) {
	case float64:
		return sortKey{key: conditions.NumberKey(of)}
	case bool:
		return sortKey{kind: 3, key: conditions.BoolKey(of)}
	case string:
		if x, ok := conditions.ParseNumber(of); ok {
			return sortKey{key: conditions.NumberKey(x)}
		}
		if from, _, ok := conditions.ParseDate(of); ok {
			return sortKey{kind: 1, key: conditions.DateKey(from)}
		}
		return sortKey{kind: 2, text: of}
	}
	return sortKey{kind: 4}
}
