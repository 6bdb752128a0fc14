package calibration

import (
	"math"
	"math/rand/v2"
	"testing"

	"example.org/conclave/fusion"
)

// TestPlattByHand: with one constant signal only the intercept counts, so
// that the chance is the mean of Platt's targets, here (3·4/5 + 1·1/3)/4.
func TestPlattByHand(t *testing.T) {
	all := []signalOutcome{
		{[]float64{7}, true, 0, false},
		{[]float64{7}, true, 0, false},
		{[]float64{7}, true, 0, false},
		{[]float64{7}, false, 0, false},
	}
	for _, names := range [][]string{{"constant"}, {}} {
		if len(names) == 0 {
			for i := range all {
				all[i].Signals = nil
			}
		}
		l, err := fitLogistic(names, all, nil)
		if err != nil {
			t.Fatal(err)
		}
		odds, err := l.LogOdds(all[0].Signals)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "the chance", sigmoid(odds), (3*4./5+1./3)/4, 1e-6)
	}

	// Two values of a signal are two free parameters: each gets the mean of its
	// own targets. 0: one of three right; 1: two of three.
	all = []signalOutcome{
		{[]float64{0}, true, 0, false},
		{[]float64{0}, false, 0, false},
		{[]float64{0}, false, 0, false},
		{[]float64{1}, true, 0, false},
		{[]float64{1}, true, 0, false},
		{[]float64{1}, false, 0, false},
	}
	l, err := fitLogistic([]string{"s"}, all, nil)
	if err != nil {
		t.Fatal(err)
	}
	high, low := 4./5, 1./5
	atZero, _ := l.LogOdds([]float64{0})
	atOne, _ := l.LogOdds([]float64{1})
	near(t, "the chance at 0", sigmoid(atZero), (high+2*low)/3, 1e-4) // the ridge shows in the fifth digit
	near(t, "the chance at 1", sigmoid(atOne), (2*high+low)/3, 1e-4)
}

// TestLogisticIsFound: outcomes drawn from known coefficients give them back,
// whatever the units of the signals.
func TestLogisticIsFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	truth := Logistic{Intercept: -.5, Signals: []Term{{"a", 2}, {"b", -1e-3}, {"c", 0}}}
	all := make([]signalOutcome, 20_000)
	for i := range all {
		x := []float64{rng.Float64(), 1000 * rng.NormFloat64(), 80 + rng.NormFloat64()}
		odds, err := truth.LogOdds(x)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = signalOutcome{x, rng.Float64() < sigmoid(odds), 0, false}
	}
	l, err := fitLogistic([]string{"a", "b", "c"}, all, nil)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "coefficient of a", l.Signals[0].Coefficient, 2, .2)
	near(t, "coefficient of b", l.Signals[1].Coefficient, -1e-3, 1e-4)
	near(t, "coefficient of c", l.Signals[2].Coefficient, 0, .06)
	if l.Signals[1].Name != "b" {
		t.Errorf("names %v", l.Signals)
	}

	// The gradient is zero, computed apart: Σ (chance - target)·x. The ridge
	// allows for 1e-3 times the coefficient in units of the deviation.
	positive := 0.0
	for _, o := range all {
		positive += Outcome{Correct: o.Correct}.correctValue()
	}
	gradient := make([]float64, 4)
	for _, o := range all {
		odds, _ := l.LogOdds(o.Signals)
		gap := 1/(1+math.Exp(-odds)) - 1/(float64(len(all))-positive+2)
		if o.Correct {
			gap = 1/(1+math.Exp(-odds)) - (positive+1)/(positive+2)
		}
		for j, x := range []float64{1, (o.Signals[0] - .5) / .29, o.Signals[1] / 1000, o.Signals[2] - 80} {
			gradient[j] += gap * x
		}
	}
	for j, g := range gradient {
		near(t, "the gradient of "+[]string{"the intercept", "a", "b", "c"}[j], g, 0, .02)
	}
}

// TestLogisticHardCases: signals that separate the outcomes, that repeat each
// other, that are constant, huge or all alike still give a finite chance.
func TestLogisticHardCases(t *testing.T) {
	build := func(n int, signals func(i int) []float64, correct func(i int) bool) []signalOutcome {
		all := make([]signalOutcome, n)
		for i := range all {
			all[i] = signalOutcome{signals(i), correct(i), 0, false}
		}
		return all
	}
	late := func(i int) bool { return i >= 10 }
	for name, all := range map[string][]signalOutcome{
		"separated": build(20, func(i int) []float64 { return []float64{float64(i), 0} }, late),
		"repeated": build(20, func(i int) []float64 { return []float64{float64(i), float64(2 * i)} },
			func(i int) bool { return i%3 > 0 }),
		"huge":      build(20, func(i int) []float64 { return []float64{1e100 * float64(i), 1e-100 * float64(i)} }, late),
		"all right": build(20, func(i int) []float64 { return []float64{float64(i), 1} }, func(int) bool { return true }),
		"all wrong": build(20, func(i int) []float64 { return []float64{float64(i), 1} }, func(int) bool { return false }),
		"one":       build(1, func(int) []float64 { return []float64{1, 2} }, late),
	} {
		l, err := fitLogistic([]string{"a", "b"}, all, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		before := 0.0
		for i, o := range all {
			odds, err := l.LogOdds(o.Signals)
			chance := sigmoid(odds)
			if err != nil || !(chance > 0 && chance < 1) {
				t.Errorf("%s: chance %v (%v)", name, chance, err)
			}
			if name == "separated" && (chance < before || o.Correct != (chance > .5)) {
				t.Errorf("separated: chance %v at %d, after %v", chance, i, before)
			}
			before = chance
		}
	}
}

func TestLogisticRefuses(t *testing.T) {
	for name, all := range map[string][]signalOutcome{
		"none": nil, "too few signals": {{nil, true, 0, false}}, "too many": {{[]float64{1, 2}, true, 0, false}},
		"no number": {{[]float64{math.NaN()}, true, 0, false}}, "infinite": {{[]float64{math.Inf(1)}, true, 0, false}},
	} {
		if _, err := fitLogistic([]string{"s"}, all, nil); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	l := Logistic{Signals: []Term{{"s", 1}}}
	for _, signals := range [][]float64{nil, {math.NaN()}} {
		if _, err := l.LogOdds(signals); err == nil {
			t.Errorf("the signals %v were accepted", signals)
		}
	}
}

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
