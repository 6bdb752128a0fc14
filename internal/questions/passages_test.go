package questions

import (
	"slices"
	"testing"

	"example.org/conclave/internal/rank"
)

// listed is a Passages of these ids.
type listed []string

// Ordinal returns the index of an id.
func (l listed) Ordinal(id string) (rank.Ordinal, bool, error) {
	at := slices.Index(l, id)
	return rank.Ordinal(max(0, at)), at >= 0, nil
}

// TestAbsent: ids that questions name and the passages lack come once, in order; passages that do not answer do not
// count.
func TestAbsent(t *testing.T) {
	domains := []Domain{
		{Questions: []Question{
			{PositiveIDs: []string{"b", "x"}}, {Grades: map[string]float64{"a": 2, "z": 1, "y": 0}},
		}},
		{Questions: []Question{{PositiveIDs: []string{"x"}}, {}}},
	}
	if ids, err := Absent(listed{"a", "b"}, domains); err != nil || !slices.Equal(ids, []string{"x", "z"}) {
		t.Errorf("%q, %v", ids, err)
	}
	if ids, err := Absent(listed{"a", "b", "x", "z"}, domains); err != nil || ids != nil {
		t.Errorf("%q, %v", ids, err)
	}
}
