package fusion

import (
	"math"
	"testing"
)

// TestSourceSignalsByHand on the table of the gate's tests, with a rival that
// was not asked.
func TestSourceSignalsByHand(t *testing.T) {
	c, sources := twoExperts(t)
	sources[0].Rival, sources[1].Rival, sources[2].Rival = .75, .75, .75
	f := FeaturesOf(c, sources)
	// behind its rival by .15; passage 1 is among the words' first too; 10 of at most 25
	near(
		t,
		"specialist",
		SourceSignals(c, sources, f, 0),
		[]float64{.9, .2, .3, .6, -.15, -.15, -.135, .54, .3 / .9, .1, .4, math.Log(11)},
	)
	near(t, "base", SourceSignals(c, sources, f, 1), []float64{.8, .3, .3, .75, .3 / .8, .1, .4, math.Log(11)})
	near(t, "words", SourceSignals(c, sources, f, 2), []float64{math.Log(11), .4, .5, .5, .75})
	sources[0].Rival = .5
	near(t, "ahead", SourceSignals(c, sources, f, 0)[4:7], []float64{.1, 0, .09})
	for i, s := range sources {
		if got, want := len(SourceSignals(c, sources, f, i)), len(SourceSignalNames(s.Kind)); got != want {
			t.Errorf("%s: %d signals, %d names", s.Kind, got, want)
		}
	}
	dense := sources[:2]
	if got := SourceSignals(c, dense, FeaturesOf(c, dense), 0); got != nil {
		t.Errorf("without words %v", got)
	}
}

func TestRivals(t *testing.T) {
	sources := []ObservedSource{
		{Kind: Base},
		{Kind: Specialist, Familiarity: .4},
		{Kind: Specialist, Familiarity: .7},
		{Kind: Lexical},
	}
	Rivals(sources)
	for i, want := range []float64{.7, .7, .4, .7} {
		if sources[i].Rival != want {
			t.Errorf("source %d: rival %v, want %v", i, sources[i].Rival, want)
		}
	}
	alone := []ObservedSource{{Kind: Specialist, Familiarity: .4, Rival: 9}}
	if Rivals(alone); alone[0].Rival != 0 {
		t.Errorf("nobody else: %v", alone[0].Rival)
	}
}
