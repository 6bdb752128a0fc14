package evaluation

import (
	"math"
	"testing"
)

// TestSQuADByHand: cases worked out from the definition.
func TestSQuADByHand(t *testing.T) {
	for _, c := range []struct {
		said    string
		answers []string
		em, f1  float64
	}{
		{"The Beatles", []string{"beatles!"}, 1, 1},
		{"in 1918", []string{"1918", "November 1918"}, 0, 2. / 3},
		{"New York City", []string{"New York"}, 0, 4. / 5},
		{"a dog dog", []string{"dog cat dog dog"}, 0, 2 * 2. / 6},
		{"Paris", []string{"London"}, 0, 0},
		{"the", []string{"a"}, 1, 1},
		{"", []string{"x"}, 0, 0},
		{"x", nil, 0, 0},
	} {
		if em, f1 := ExactMatch(c.said, c.answers), TokenF1(c.said, c.answers); em != c.em || math.Abs(f1-c.f1) > 1e-12 {
			t.Errorf("%q, %q: %g and %g, want %g and %g", c.said, c.answers, em, f1, c.em, c.f1)
		}
	}
}
