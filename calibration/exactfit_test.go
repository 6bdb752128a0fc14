package calibration

import (
	"math"
	"math/rand/v2"
	"testing"

	"example.org/conclave/fusion"
)

// TestExactFitLeavesOrdinaryOnes: whatever is generated, the signals of ordinary questions
// are fitted as if there were no others; and the slope of the likelihood over the outcomes
// with something exact, worked out apart, is zero.
func TestExactFitLeavesOrdinaryOnes(t *testing.T) {
	const seed = 35
	rng := rand.New(rand.NewPCG(seed, seed))
	names := fusion.SignalNames()
	var ordinary, all, short []signalOutcome
	for i := range 2000 {
		o := signalOutcome{Signals: make([]float64, len(names))}
		for j := range fusion.ExactFrom {
			o.Signals[j] = rng.NormFloat64()
		}
		o.Correct = rng.Float64() < sigmoid(o.Signals[0]-.5)
		switch i % 4 {
		case 0, 1:
			ordinary = append(ordinary, o)
			o2 := o
			o2.Signals = o.Signals[:fusion.ExactFrom]
			short = append(short, o2)
		case 2: // something exact
			o.Signals[fusion.ExactFrom+rng.IntN(2)] = 1
			o.Correct = rng.Float64() < sigmoid(o.Signals[0]-.5+3*o.Signals[fusion.ExactFrom]-2*o.Signals[fusion.ExactFrom+1])
		case 3:
			o.Generated, o.Correct = true, true
		}
		all = append(all, o)
	}
	alone, err := fitLogistic(names[:fusion.ExactFrom], short, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := fitExact(names, all, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Signals) != len(names) || l.Intercept != alone.Intercept {
		t.Fatalf(
			"seed %d: %d signals, intercept %v; want %d, %v",
			seed,
			len(l.Signals),
			l.Intercept,
			len(names),
			alone.Intercept,
		)
	}
	for j, term := range alone.Signals {
		if l.Signals[j] != term {
			t.Errorf("seed %d: %v, without the exact ones %v", seed, l.Signals[j], term)
		}
	}
	near(t, "held", l.Signals[fusion.ExactFrom].Coefficient, 3, .8)
	near(t, "missing", l.Signals[fusion.ExactFrom+1].Coefficient, -2, .8)
	positive, negative := 0.0, 0.0
	for _, o := range all {
		if o.Signals[fusion.ExactFrom]+o.Signals[fusion.ExactFrom+1] > 0 {
			if o.Correct {
				positive++
			} else {
				negative++
			}
		}
	}
	slope := 0.0
	for _, o := range all {
		if o.Signals[fusion.ExactFrom] > 0 {
			target := 1 / (negative + 2)
			if o.Correct {
				target = (positive + 1) / (positive + 2)
			}
			odds, _ := l.LogOdds(o.Signals)
			slope += sigmoid(odds) - target
		}
	}
	if math.Abs(slope) > .05 { // the ridge leaves a little
		t.Errorf("seed %d: the slope is %v", seed, slope)
	}
	if _, err := fitExact(names, []signalOutcome{{Signals: []float64{1}}}, nil); err == nil {
		t.Error("too few signals are no error")
	}
	// Where nothing is exact, the exact ones keep what a prior says.
	prior := l
	same, err := fitExact(names, ordinary, &prior)
	if err != nil || same.Signals[fusion.ExactFrom] != prior.Signals[fusion.ExactFrom] {
		t.Errorf("%v, %v", same.Signals[fusion.ExactFrom:], err)
	}
}
