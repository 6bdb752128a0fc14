package fusion

import (
	"slices"
	"testing"

	"example.org/conclave/internal/rank"
)

// TestAdmit: passages that nobody found are candidates whose scores are missing, in their places; those
// that were found stay as they were.
func TestAdmit(t *testing.T) {
	var c Candidates
	lists := [][]rank.Hit{{{Ordinal: 5, Score: 2}, {Ordinal: 2, Score: 1}}, {{Ordinal: 5, Score: 3}}}
	if err := c.Reset(lists); err != nil {
		t.Fatal(err)
	}
	c.Admit([]rank.Ordinal{1, 2, 9})
	if want := []rank.Ordinal{1, 2, 5, 9}; !slices.Equal(c.Ordinals(), want) {
		t.Fatalf("candidates %v, want %v", c.Ordinals(), want)
	}
	if want := []rank.Ordinal{1, 9}; !slices.Equal(c.Missing(0, nil), want) {
		t.Errorf("missing %v, want %v", c.Missing(0, nil), want)
	}
	if err := c.Complete(0, []float32{4, 0}); err != nil {
		t.Fatal(err)
	}
	for _, sources := range [][]Source{{{Column: 0, Weight: 1}, {Column: 1, Weight: 0}}, {{Column: 0, Weight: 1}}} {
		ranking, err := Sum(&c, sources, LinearOptions{Missing: Exact}, 10)
		if err != nil {
			t.Fatal(err)
		}
		var order []rank.Ordinal
		for _, item := range ranking.Items {
			order = append(order, item.Ordinal)
		}
		if want := []rank.Ordinal{1, 5, 2, 9}; !slices.Equal(order, want) {
			t.Errorf("%d sources: ranked %v, want %v", len(sources), order, want)
		}
	}
	if err := c.Reset([][]rank.Hit{{{Ordinal: 5, Score: 2}}}); err != nil || c.Len() != 1 {
		t.Errorf("%d candidates behind Reset: %v", c.Len(), err)
	}
}
