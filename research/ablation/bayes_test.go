package ablation

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"example.org/conclave/calibration"
	"example.org/conclave/fusion"
)

// TestProcess compares with a process worked out by hand: a point with the value v predicts v there without doubt, and
// far away its mean with the whole deviation; between two points of values 1 and -1 it predicts 0 by symmetry.
func TestProcess(t *testing.T) {
	p, _ := newProcess([][]float64{{0}, {1}}, []float64{1, -1}, .3)
	for x, want := range map[float64]float64{0: 1, 1: -1, .5: 0} {
		if got, _ := p.predict([]float64{x}); math.Abs(got-want) > 1e-4 {
			t.Errorf("at %v: %v, want %v", x, got, want)
		}
	}
	if _, deviation := p.predict([]float64{0}); deviation > .01 {
		t.Errorf("at a point that was tried the deviation is %v", deviation)
	}
	if mean, deviation := p.predict([]float64{100}); math.Abs(mean) > 1e-9 || math.Abs(deviation-1) > 1e-9 {
		t.Errorf("far away: %v, %v", mean, deviation)
	}
	// By numbers: the expectation of max(least - v, 0) over the normal distribution.
	mean, deviation := p.predict([]float64{.5})
	const least = -.4
	sum := 0.0
	const parts = 20_000
	for i := range parts {
		z := -8 + 16*(float64(i)+.5)/parts
		sum += max(least-mean-deviation*z, 0) * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * 16 / parts
	}
	if got := p.improvement([]float64{.5}, least); math.Abs(got-sum) > 1e-5 {
		t.Errorf("the expected improvement is %v, by numbers %v", got, sum)
	}
}

// TestMinimise: in as many steps the search comes nearer to the least value of a smooth function than random points do,
// and never ends above where it began.
func TestMinimise(t *testing.T) {
	at := []float64{.7, .2, .4}
	value := func(x []float64) (float64, error) {
		sum := 0.0
		for i := range x {
			sum += (x[i] - at[i]) * (x[i] - at[i])
		}
		return sum, nil
	}
	searched, drawn := 0.0, 0.0
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 1))
		x, err := bayesianMinimum([][]float64{{1, 0, 0}}, 30, random, value)
		if err != nil {
			t.Fatal(err)
		}
		v, _ := value(x)
		searched += v / 10
		least := 1.0
		for range 30 {
			v, _ := value([]float64{random.Float64(), random.Float64(), random.Float64()})
			least = min(least, v)
		}
		drawn += least / 10
	}
	if searched > drawn/3 {
		t.Errorf("the search ends at %v, random points at %v", searched, drawn)
	}
}

// TestOracles: what is searched for a question is no worse than the expert of its domain, whose top-1 is that of its
// own ranking, and both stand in the findings.
func TestOracles(t *testing.T) {
	e := planted(t, 60)
	r, err := Run(context.Background(), &e.Evidence, TrialOptions{Base: "base", Joint: "joint", Only: []string{"oracles"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Oracles) != 2 {
		t.Fatalf("%+v", r.Oracles)
	}
	right := 0.0
	for i := range e.Questions {
		q := &e.Questions[i]
		best := math.Inf(-1)
		first := false
		q.Table.Each(fusion.Exact, func(row int, by []float64) {
			if v := by[map[string]int{"a": 1, "b": 2, "c": 3}[q.Domain]]; v > best {
				best = v
				first = q.Relevant[q.Table.Ordinal(row)] > 0
			}
		})
		if first {
			right++
		}
	}
	if got := r.Oracles[0].All.Top1; math.Abs(got-right/60) > 1e-12 {
		t.Errorf("the indicator has %v, its experts %v", got, right/60)
	}
	for i := range r.Oracles[0].answers {
		own, searched := r.Oracles[0].answers[i], r.Oracles[1].answers[i]
		if own.First > 0 && (searched.First == 0 || searched.First > own.First) {
			t.Errorf("question %d: %d by its expert, %d by what was searched", i, own.First, searched.First)
		}
	}
	if calibration.Accuracy(r.Oracles[1].answers, 1) <= calibration.Accuracy(r.Oracles[0].answers, 1) {
		t.Error("the search found nothing")
	}
}
