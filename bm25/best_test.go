package bm25

import (
	"math/rand/v2"
	"slices"
	"testing"

	"example.org/conclave/internal/rank"
)

// TestBest compares with the collector of package rank, on lists with many
// equal scores, in ascending, descending and random order.
func TestBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 0))
	var b best
	for trial := range 3000 {
		n := rng.IntN(300)
		k := 1 + rng.IntN(40)
		scores := make([]int, n)
		for i := range scores {
			scores[i] = rng.IntN(1 + rng.IntN(60))
		}
		switch trial % 3 {
		case 1:
			slices.Sort(scores)
		case 2:
			slices.SortFunc(scores, func(a, b int) int { return b - a })
		}
		b.reset(k, none)
		want := rank.NewTopK(k)
		for i, s := range scores {
			h := rank.Hit{Ordinal: rank.Ordinal(i), Score: float32(s)}
			want.Push(h)
			b.offer(h.Ordinal, h.Score)
			if b.threshold > max(want.Threshold(), none) {
				t.Fatalf("trial %d: the threshold %v is above %v", trial, b.threshold, want.Threshold())
			}
		}
		if got := b.sorted(); !slices.Equal(got, want.Sorted()) {
			t.Fatalf("trial %d (n %d, k %d):\n%v\n%v", trial, n, k, got, want.Sorted())
		}
	}
}
