package graph

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFrontierAgainstSort pushes and pops at random: each pop is the least of
// what is left.
func TestFrontierAgainstSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for range 200 {
		var f frontier
		var left []entry
		for range 300 {
			if len(left) > 0 && rng.IntN(3) == 0 {
				slices.Sort(left)
				if got := f.pop(); got != left[0] {
					t.Fatalf("popped %v, the least is %v", got, left[0])
				}
				left = left[1:]
				continue
			}
			e := entry(rng.IntN(50))
			f.push(e)
			left = append(left, e)
		}
		slices.Sort(left)
		for _, want := range left {
			if got := f.pop(); got != want {
				t.Fatalf("popped %v, want %v", got, want)
			}
		}
		if len(f) != 0 {
			t.Fatalf("%d are left", len(f))
		}
	}
}
