package calibration

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// answered gives questions with one signal, even between 0 and 1, of which
// the first passage answers with the chance given.
func answered(n int, seed uint64, chance func(signal float64) float64) []RankedQuestion {
	rng := rand.New(rand.NewPCG(seed, 1))
	questions := make([]RankedQuestion, n)
	for i := range questions {
		s := rng.Float64()
		questions[i] = RankedQuestion{ID: fmt.Sprint("q", i), Signals: []float64{s}}
		switch {
		case rng.Float64() < chance(s):
			questions[i].First = 1
		case rng.Float64() < .5:
			questions[i].First = 2 + rng.IntN(19)
		}
	}
	return questions
}

// TestConfidenceChoice: chances that are logistic are left to Platt, a
// staircase is not, and either is calibrated on held-out questions.
func TestConfidenceChoice(t *testing.T) {
	for name, c := range map[string]struct {
		chance func(float64) float64
		kind   Shape
	}{
		"logistic": {func(s float64) float64 { return sigmoid(4*s - 2) }, Platt},
		"a staircase": {func(s float64) float64 {
			if s < .8 {
				return .3
			}
			return .95
		}, IsotonicShape},
	} {
		questions := answered(2000, 21, c.chance)
		fit, err := FitConfidence([]string{"s"}, questions, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if fit.Confidence.Kind != c.kind {
			t.Errorf("%s: %s was chosen: %s", name, fit.Confidence.Kind, fit.Confidence.Reason)
		}
		if (fit.Confidence.Isotonic != nil) != (c.kind == IsotonicShape) || !strings.Contains(fit.Confidence.Reason, "2000") {
			t.Errorf("%s: %+v", name, fit.Confidence)
		}
		if summary := Summarise(fit.Outcomes); !reflect.DeepEqual(summary, fit.HeldOut) {
			t.Errorf("%s: the outcomes give %+v, held out %+v", name, summary, fit.HeldOut)
		}
		for i, o := range fit.Outcomes {
			if o.Correct != (questions[i].First == 1) {
				t.Fatalf("%s: outcome %d is not that of the question", name, i)
			}
		}
		if bound := perfectECE(fit.Outcomes); fit.HeldOut.ECE > bound {
			t.Errorf("%s: ECE %.4f, a perfect predictor stays below %.4f", name, fit.HeldOut.ECE, bound)
		}
		for _, s := range []float64{.1, .5, .9} {
			got, err := fit.Confidence.Of([]float64{s})
			if err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprint(name, " at ", s), got, c.chance(s), .07)
		}
	}
}

// TestFewGetNoSteps: a staircase of few questions is left to Platt, however well steps
// would fit it, so that equal steps do not make different answers alike.
func TestFewGetNoSteps(t *testing.T) {
	step := func(s float64) float64 { return map[bool]float64{true: .02, false: .98}[s < .8] }
	for n, kind := range map[int]Shape{enoughForSteps - 1: Platt, enoughForSteps: IsotonicShape} {
		fit, err := FitConfidence(
			[]string{"s"}, answered(n, 23, func(s float64) float64 { return step(math.Mod(2.2*s, 1)) }), 1, nil,
		)
		if err != nil || fit.Confidence.Kind != kind {
			t.Errorf("%d questions: %v, %s: %s", n, err, fit.Confidence.Kind, fit.Confidence.Reason)
		}
	}
}

// TestConfidenceIsHeldOut: a signal that is another at random for every
// question tells nothing of others, and isotonic regression, which would learn
// it by heart, has to be seen not to know it.
func TestConfidenceIsHeldOut(t *testing.T) {
	questions := answered(400, 22, func(float64) float64 { return .5 })
	fit, err := FitConfidence([]string{"noise"}, questions, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := fit.HeldOut; s.AUROC == nil || *s.AUROC > .56 {
		t.Errorf("AUROC %v on noise", *s.AUROC)
	}
	// Question 7 is measured with a fit that did not see it.
	var others []RankedQuestion
	for _, q := range questions {
		if foldOf(q.ID) != foldOf("q7") {
			others = append(others, q)
		}
	}
	alone, err := FitConfidence([]string{"noise"}, others, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := alone.Confidence.Of(questions[7].Signals)
	if err != nil || fit.Confidence.Kind != alone.Confidence.Kind {
		t.Fatal(err, fit.Confidence.Kind, alone.Confidence.Kind)
	}
	near(t, "the confidence of question 7", fit.Outcomes[7].Confidence, want, 1e-12)
}

// TestChances: more passages never answer less, and what is written is read.
func TestChances(t *testing.T) {
	questions := answered(1500, 23, func(s float64) float64 { return .2 + .5*s })
	var chances Chances
	for _, k := range []int{20, 1, 5} {
		fit, err := FitConfidence([]string{"s"}, questions, k, nil)
		if err != nil {
			t.Fatal(err)
		}
		hits := 0
		for _, q := range questions {
			if q.First >= 1 && q.First <= k {
				hits++
			}
		}
		near(t, "accuracy", AccuracyAt(fit.Outcomes, 1), float64(hits)/1500, 1e-12)
		chances = append(chances, fit.Confidence)
	}
	data, err := json.Marshal(chances)
	if err != nil {
		t.Fatal(err)
	}
	var read Chances
	if err := json.Unmarshal(data, &read); err != nil || !reflect.DeepEqual(read, chances) {
		t.Errorf("written and read, it is another (%v): %s", err, data)
	}
	for i := range read {
		if err := read[i].Validate(); err != nil {
			t.Error(err)
		}
	}
	previous := 0.0
	for k := 1; k <= 30; k++ {
		got, err := read.Of([]float64{.5}, k)
		if err != nil || got < previous {
			t.Errorf("the chance of the first %d is %v (%v), of one fewer %v", k, got, err, previous)
		}
		previous = got
	}
	near(t, "the chance of the first 20", previous, .2+.25+.55*.5, .05)
	// A fit for 5 that says less than the one for 1 does not come through.
	inverted := Chances{
		{K: 1, Kind: Platt, Logistic: Logistic{Intercept: 1}},
		{K: 5, Kind: Platt, Logistic: Logistic{Intercept: -1}},
	}
	got, err := inverted.Of(nil, 5)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the chance of the first 5", got, 1/(1+math.Exp(-1)), 1e-12)

	if _, err := chances.Of([]float64{.5}, 0); err == nil {
		t.Error("a chance for no passages")
	}
	if _, err := chances.Of(nil, 5); err == nil {
		t.Error("a chance from no signals")
	}
}

func TestConfidenceRefuses(t *testing.T) {
	questions := answered(50, 24, func(float64) float64 { return .5 })
	for name, c := range map[string]struct {
		names     []string
		questions []RankedQuestion
		k         int
	}{
		"no questions": {[]string{"s"}, nil, 1}, "k": {[]string{"s"}, questions, 0},
		"names": {[]string{"s", "t"}, questions, 1}, "one fold": {[]string{"s"}, questions[:1], 1},
	} {
		if _, err := FitConfidence(c.names, c.questions, c.k, nil); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, c := range []Confidence{
		{Kind: Platt}, {K: 1, Kind: "beta"}, {K: 1, Kind: IsotonicShape}, {K: 1, Kind: Platt, Isotonic: &Isotonic{}},
		{K: 1, Kind: IsotonicShape, Isotonic: &Isotonic{}}, {K: 1, Kind: Platt, Logistic: Logistic{Intercept: math.NaN()}},
		{K: 1, Kind: Platt, Logistic: Logistic{Signals: []Term{{"s", math.Inf(1)}}}},
	} {
		if err := c.Validate(); err == nil {
			t.Errorf("%+v is valid", c)
		}
	}
}

// bruteIsotonic finds the never falling function with the least squared error
// by trying every way to cut the distinct scores into runs that share a mean.
func bruteIsotonic(all []scoredOutcome) map[float64]float64 {
	sums, sizes := map[float64]float64{}, map[float64]float64{}
	var scores []float64
	for _, o := range all {
		if sizes[o.Score] == 0 {
			scores = append(scores, o.Score)
		}
		sizes[o.Score]++
		if o.Correct {
			sums[o.Score]++
		}
	}
	slices.Sort(scores)
	best := map[float64]float64{}
	least := math.Inf(1)
	for cuts := range 1 << (len(scores) - 1) {
		fitted := map[float64]float64{}
		previous := math.Inf(-1)
		loss := 0.0
		rises := true
		for i := 0; i < len(scores); {
			sum := sums[scores[i]]
			size := sizes[scores[i]]
			j := i + 1
			for ; j < len(scores) && cuts>>(j-1)&1 == 0; j++ {
				sum += sums[scores[j]]
				size += sizes[scores[j]]
			}
			chance := sum / size
			rises = rises && chance >= previous
			previous = chance
			for ; i < j; i++ {
				fitted[scores[i]] = chance
			}
		}
		for _, o := range all {
			gap := fitted[o.Score] - (Outcome{Correct: o.Correct}).correctValue()
			loss += gap * gap
		}
		if rises && loss < least-1e-12 {
			best, least = fitted, loss
		}
	}
	return best
}

func TestIsotonicAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		all := make([]scoredOutcome, 1+rng.IntN(11))
		for i := range all {
			score := float64(rng.IntN(9)) - 4
			all[i] = scoredOutcome{Score: score, Correct: rng.Float64() < .5+score/10}
		}
		f, err := fitIsotonic(all)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Validate(); err != nil {
			t.Fatalf("%v: %v: %v", all, f, err)
		}
		for score, want := range bruteIsotonic(all) {
			if got := f.Of(score); math.Abs(got-want) > 1e-12 {
				t.Fatalf("%v: at %v %v, want %v", all, score, got, want)
			}
		}
	}
}

// TestIsotonicByHand: 1 wrong; 2 right, 3 wrong pooled to a half; 5 and 6
// right. Between the steps straight lines.
func TestIsotonicByHand(t *testing.T) {
	all := []scoredOutcome{{6, true, 0}, {1, false, 0}, {3, false, 0}, {2, true, 0}, {5, true, 0}}
	f, err := fitIsotonic(all)
	if err != nil {
		t.Fatal(err)
	}
	want := []Step{{1, 1, 0}, {2, 3, .5}, {5, 6, 1}}
	if !slices.Equal(f.Steps, want) {
		t.Errorf("steps %v, want %v", f.Steps, want)
	}
	for _, c := range [][2]float64{{-9, 0}, {1, 0}, {1.5, .25}, {2, .5}, {2.5, .5}, {3, .5}, {4, .75}, {4.5, .875},
		{5, 1}, {99, 1}} {
		near(t, "the chance", f.Of(c[0]), c[1], 1e-15)
	}
	near(t, "the chance of no function", Isotonic{}.Of(1), 0, 0)
}

func TestIsotonicRefuses(t *testing.T) {
	for _, all := range [][]scoredOutcome{nil, {{math.NaN(), true, 0}}, {{math.Inf(-1), true, 0}}} {
		if _, err := fitIsotonic(all); err == nil {
			t.Errorf("%v was accepted", all)
		}
	}
	for _, steps := range [][]Step{
		nil, {{2, 1, .5}}, {{1, 2, 1.5}}, {{1, 2, math.NaN()}}, {{math.NaN(), 2, .5}}, {{1, math.Inf(1), .5}},
		{{1, 2, .5}, {2, 3, .6}}, {{1, 2, .5}, {3, 4, .4}},
	} {
		if err := (Isotonic{steps}).Validate(); err == nil {
			t.Errorf("%v is valid", steps)
		}
	}
}
