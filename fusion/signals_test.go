package fusion

import (
	"math"
	"testing"
)

// TestSignalsByHand on the table of the gate's tests: passage 1 is first by the
// specialist alone.
func TestSignalsByHand(t *testing.T) {
	c, sources := twoExperts(t)
	g := Gate{Specialist: math.Log(3), Dense: make([]float64, denseFeatures), Lexical: make([]float64, lexicalFeatures), Words: -30}
	r, err := Gated(c, &g, sources, Exact, 10)
	if err != nil {
		t.Fatal(err)
	}
	// .75·.9 + .25·.5 = .8, .75·.7 + .25·.8 = .725, .75·.6 + .25·.2 = .5, .75·.1 + .25·.3 = .15
	near(t, "signals", Signals(c, sources, r), []float64{.8, .075, .65, 1. / 3, .1, .6, math.Log(11), .5, .25, .4})
	if got := Signals(c, sources, Ranking{}); len(got) != len(SignalNames()) {
		t.Errorf("%d signals without an answer", len(got))
	}
}
