package storage

import (
	"cmp"
	"context"
	"slices"

	"example.org/conclave/internal/conditions"
)

// Facet has the most frequent values of a metadata field, with how many passages have each.
type Facet struct {
	Field string `json:"field"`
	// Selected counts all passages that match the filter, the most frequent values first, and ranges in their order.
	// Other is the number of these passages that have a value that is not listed.
	Selected []FacetValue `json:"selected"`
	Other    int          `json:"other,omitempty"`
	// Approximate says that shards listed their most frequent values separately, so that values or counts may be
	// missing.
	Approximate bool `json:"approximate,omitempty"`
	// Candidates counts the passages that the sources found for the question.
	Candidates []FacetValue `json:"candidates"`
}

// FacetValue is a value, or a range, and how many passages have it.
type FacetValue struct {
	Value conditions.Value  `json:"value"`        // a text, a number or a boolean; of a range its least
	To    *conditions.Value `json:"to,omitempty"` // of a range, the value that it does not reach
	Count int               `json:"count"`
}

// FacetCounter is optionally implemented by Indexes that can count values of fields.
type FacetCounter interface {
	// Facet returns the size most frequent values of a field among the passages of the indexes, in the order of
	// SortFacet. It does not set Candidates.
	Facet(ctx context.Context, field string, size int) (Facet, error)
}

// SortFacet sorts values in place by their counts, the highest first, and equal counts by value (CompareValues).
func SortFacet(values []FacetValue) {
	slices.SortFunc(values, func(a, b FacetValue) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), CompareValues(a.Value.Any(), b.Value.Any()),
			cmp.Compare(a.Value.String(), b.Value.String()))
	})
}

// CompareValues compares two values of metadata, and returns a negative number, 0 or a positive one. Numbers, also in
// strings, come before dates, then other strings, then booleans, then anything else.
func CompareValues(a, b any) int {
	x, y := sortKeyOf(a), sortKeyOf(b)
	return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.key, y.key), cmp.Compare(x.text, y.text))
}

// sortKey is a value of metadata in the form in which CompareValues compares it: by kind, then key, then text.
type sortKey struct {
	kind int
	key  uint64
	text string
}

// sortKeyOf returns the key by which CompareValues orders a value of metadata: numbers (also written in strings),
// dates, other strings, booleans, and then anything else.
func sortKeyOf(value any) sortKey {
	v, _ := conditions.ValueOf(value)
	switch typed := v.Any().(type) {
	case float64:
		return sortKey{key: conditions.NumberKey(typed)}
	case bool:
		return sortKey{kind: 3, key: conditions.BoolKey(typed)}
	case string:
		if x, ok := conditions.ParseNumber(typed); ok {
			return sortKey{key: conditions.NumberKey(x)}
		}
		if from, _, ok := conditions.ParseDate(typed); ok {
			return sortKey{kind: 1, key: conditions.DateKey(from)}
		}
		return sortKey{kind: 2, text: typed}
	}
	return sortKey{kind: 4}
}
