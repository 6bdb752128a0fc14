package rank

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTopKAgainstSort compares the heap with sorting everything, on lists with
// many equal scores so that ties by ordinal matter.
func TestTopKAgainstSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 500 {
		n, k := rng.IntN(60), rng.IntN(20)
		hits := make([]Hit, n)
		for i, p := range rng.Perm(n) {
			hits[i] = Hit{Ordinal: Ordinal(p), Score: float32(rng.IntN(8))}
		}
		top := NewTopK(k)
		for _, h := range hits {
			top.Push(h)
		}
		want := slices.Clone(hits)
		slices.SortFunc(want, func(a, b Hit) int {
			if a.Score != b.Score {
				if a.Score > b.Score {
					return -1
				}
				return 1
			}
			return int(a.Ordinal) - int(b.Ordinal)
		})
		want = want[:min(k, n)]
		if got := top.Sorted(); !slices.Equal(got, want) {
			t.Fatalf("trial %d (n %d, k %d): got %v, want %v", trial, n, k, got, want)
		}
	}
}

func TestThreshold(t *testing.T) {
	top := NewTopK(2)
	if got := top.Threshold(); !math.IsInf(float64(got), -1) {
		t.Fatalf("threshold of an empty collector is %v", got)
	}
	top.Push(Hit{Ordinal: 1, Score: 3})
	top.Push(Hit{Ordinal: 2, Score: 5})
	if got := top.Threshold(); got != 3 {
		t.Fatalf("threshold is %v, want 3", got)
	}
	if top.Push(Hit{Ordinal: 4, Score: 3}) {
		t.Fatal("a tie with a higher ordinal was kept")
	}
	if !top.Push(Hit{Ordinal: 0, Score: 3}) {
		t.Fatal("a tie with a lower ordinal was refused")
	}
}

func TestZeroValueKeepsNothing(t *testing.T) {
	var top TopK
	if top.Push(Hit{}) || len(top.Sorted()) != 0 {
		t.Fatal("a collector without a bound kept a hit")
	}
}
