package fusion

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"example.org/conclave/internal/rank"
)

// TestOnlyIsTheTableOfFewer: leaving sources out gives the very table that the
// rest would have made alone.
func TestOnlyIsTheTableOfFewer(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 7))
	const passages = 40
	scores := make([][]float32, 4) // of every passage
	lists := make([][]rank.Hit, len(scores))
	for s := range scores {
		var all []rank.Hit
		for o := range rank.Ordinal(passages) {
			scores[s] = append(scores[s], random.Float32())
			all = append(all, rank.Hit{Ordinal: o, Score: scores[s][o]})
		}
		rank.Sort(all)
		lists[s] = all[:5+s]
	}
	table := func(columns ...int) *Candidates {
		c := new(Candidates)
		var chosen [][]rank.Hit
		for _, s := range columns {
			chosen = append(chosen, lists[s])
		}
		if err := c.Reset(chosen); err != nil {
			t.Fatal(err)
		}
		for column, s := range columns {
			var exact []float32
			for _, o := range c.Missing(column, nil) {
				exact = append(exact, scores[s][o])
			}
			if err := c.Complete(column, exact); err != nil {
				t.Fatal(err)
			}
		}
		c.keys, c.scores, c.kept = nil, nil, nil // scratch
		return c
	}
	all := table(0, 1, 2, 3)
	for _, columns := range [][]int{{0, 1, 2, 3}, {2}, {3, 0}, {1, 2, 3}} {
		got, err := all.Only(columns)
		if err != nil {
			t.Fatal(err)
		}
		want := table(columns...)
		if !slices.Equal(got.ordinals, want.ordinals) || !reflect.DeepEqual(got.cells, want.cells) ||
			!reflect.DeepEqual(got.columns, want.columns) {
			t.Errorf("columns %v: %d candidates, %d alone", columns, got.Len(), want.Len())
		}
	}
	if _, err := all.Only([]int{4}); err == nil {
		t.Error("a fifth of four sources was found")
	}
}
