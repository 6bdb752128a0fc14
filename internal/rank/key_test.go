package rank

import (
	"cmp"
	"math"
	"testing"
)

// TestKeys holds the order of keys against Compare, and takes hits back from them.
func TestKeys(t *testing.T) {
	var hits []Hit
	for _, s := range []float32{
		0, float32(math.Copysign(0, -1)), 1, -1, 0.5, -0.5, 1e30, -1e30, math.SmallestNonzeroFloat32,
		-math.SmallestNonzeroFloat32, math.MaxFloat32, -math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)),
	} {
		for _, o := range []Ordinal{0, 1, 2, math.MaxUint32} {
			hits = append(hits, Hit{Ordinal: o, Score: s})
		}
	}
	for _, a := range hits {
		if got := HitOf(a.Key()); got != a {
			t.Errorf("%v came back as %v", a, got)
		}
		for _, b := range hits {
			if got, want := cmp.Compare(a.Key(), b.Key()), Compare(a, b); got != want {
				t.Errorf("the keys of %v and %v compare as %d, want %d", a, b, got, want)
			}
		}
	}
}
