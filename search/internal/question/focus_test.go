package question

import "testing"

// TestOnTopic: where all parts of a long question are near to passages it is asked whole,
// as before; where one stands out it is not.
func TestOnTopic(t *testing.T) {
	for _, c := range []struct {
		near []float64
		want bool
	}{
		{[]float64{.6, .58, .55, .59}, true},
		{[]float64{.2, .58, .55, .59, .6}, true}, // one that says nothing
		{[]float64{.6, .3, .31, .58}, false},
		{[]float64{.6, .3, .31, .2}, false},
		{[]float64{.5, .5, .5}, false}, // which tells nothing
	} {
		if got := isUniform(c.near); got != c.want {
			t.Errorf("%v: %v", c.near, got)
		}
	}
}
