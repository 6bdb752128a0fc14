package cluster

import "testing"

// TestAbove: the three ways in which OpenSearch writes a watermark, on a disk of 100 GiB.
func TestAbove(t *testing.T) {
	const giga = 1 << 30
	for _, c := range []struct {
		mark string
		left float64 // GiB
		want bool
	}{
		{"85%", 16, false}, {"85%", 14, true}, {"0.85", 14, true}, {"0.85", 16, false}, {"100%", 0, false},
		{"20gb", 21, false}, {"20gb", 19, true}, {"20480mb", 19, true}, {"1tb", 99, true}, {"1b", 1, false},
		{"", 0, false}, {"much", 0, false},
	} {
		if got := exceedsMark(c.mark, 100*giga, c.left*giga); got != c.want {
			t.Errorf("%q with %v GiB left: %t", c.mark, c.left, got)
		}
	}
}
