package calibration

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"

	"gonum.org/v1/gonum/stat"
)

// TestWithoutItsAnswer: the passage that answered is no candidate and no random
// passage any more, and the question itself is as it was.
func TestWithoutItsAnswer(t *testing.T) {
	var table fusion.Candidates
	if err := table.Reset([][]rank.Hit{{{Ordinal: 5, Score: .9}, {Ordinal: 2, Score: .6}, {Ordinal: 3, Score: .5}},
		{{Ordinal: 5, Score: 7}}}); err != nil {
		t.Fatal(err)
	}
	if err := table.Complete(1, []float32{0, 0}); err != nil {
		t.Fatal(err)
	}
	q := Question{
		ID:       "q",
		Table:    &table,
		Relevant: map[rank.Ordinal]float64{5: 1},
		Wording:  fusion.Wording{Words: 1, Known: 1},
		Sources: []fusion.ObservedSource{
			{
				Column:     0,
				Kind:       fusion.Generalist,
				Confidence: -1,
				Random:     []rank.Hit{{Ordinal: 1, Score: .1}, {Ordinal: 5, Score: .9}},
			},
			{Column: 1, Kind: fusion.Lexical, UpperBound: 10},
		},
	}
	gates := make([]fusion.Gate, Folds)
	for i := range gates {
		gates[i] = fusion.Gate{
			Dense:   make([]float64, len(fusion.DenseFeatureNames())),
			Lexical: make([]float64, len(fusion.LexicalFeatureNames())),
			Words:   -3,
		}
	}
	answers, err := AnswerByFold(gates, []Question{q}, 0)
	if err != nil {
		t.Fatal(err)
	}
	ranked, err := RankAnswers([]Question{q}, BesideQuestions{}, answers, gates, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(ranked) != 2 || ranked[0].First != 1 || ranked[0].Weight != 1 || ranked[1].First != 0 ||
		ranked[1].Without != TakenOut ||
		ranked[1].Weight != 1./3 ||
		ranked[1].ID != "q" {
		t.Fatalf("%+v", ranked)
	}
	at := map[string]int{}
	for i, name := range fusion.SignalNames() {
		at[name] = i
	}
	for i, want := range [][3]float64{{.3, .8, .7}, {.1, .5, 0}} { // ahead, above the random passage, words found
		got := ranked[i].Signals
		near(t, "ahead", got[at["dense_gap_second"]], want[0], 1e-6)
		near(t, "above random", got[at["dense_above_random"]], want[1], 1e-6)
		near(t, "words found", got[at["words_found"]], want[2], 1e-6)
	}
	if q.Table.Len() != 3 || len(q.Sources[0].Random) != 2 {
		t.Error("the question itself was changed")
	}
}

// TestMixtureByHand: three quarters of the weight are of answerable questions, whatever the others are.
func TestMixtureByHand(t *testing.T) {
	for _, c := range []struct{ own, takenOut, unanswerable, ofTakenOut, ofUnanswerable float64 }{
		{9, 9, 0, 1. / 3, 0},
		{9, 9, 2, 1. / 9, 1},  // of three in all, two count as two, and the others as one
		{9, 9, 4, .6 / 9, .6}, // no more than four fifths of three
		{9, 9, 16, .6 / 9, .15},
		{9, 2, 1, 1, 1},
		{9, 0, 2, 0, 1.5},
	} {
		var all []RankedQuestion
		for kind, n := range map[Without]float64{Answerable: c.own, TakenOut: c.takenOut, Unanswerable: c.unanswerable} {
			all = append(all, slices.Repeat([]RankedQuestion{{Without: kind, Weight: 7}}, int(n))...)
		}
		for _, a := range withMixtureWeights(all) {
			if want := map[Without]float64{Answerable: 1, TakenOut: c.ofTakenOut,
				Unanswerable: c.ofUnanswerable}[a.Without]; math.Abs(a.Weight-want) > 1e-12 {
				t.Errorf("%+v: %q weighs %v, not %v", c, a.Without, a.Weight, want)
			}
		}
	}
	// Two weigh 1, and four ½. At .7 one in two is right, so at .2; of the pairs half are won.
	h := halfOf(outcomes(t, []float64{.7, .2}, "11"), outcomes(t, []float64{.7, .7, .2, .2}, "0000"))
	near(t, "ECE", h.ECE, (2*.2+2*.3)/4, 1e-12)
	near(t, "AUROC", *h.AUROC, .5, 1e-12)
}

// TestNonsense: it has a twentieth of the weight of the answerable questions in a fit, which it
// changes, and no outcome is of it.
func TestNonsense(t *testing.T) {
	rng := rand.New(rand.NewPCG(37, 1))
	var asked []RankedQuestion
	for i := range 300 {
		right := i%2 == 0
		q := RankedQuestion{ID: fmt.Sprint(i), Signals: []float64{rng.NormFloat64(), 0}}
		if right {
			q.First = 1
			q.Signals[0] = q.Signals[0] + 1
		}
		asked = append(asked, q)
	}
	with := slices.Clone(asked)
	for i := range 60 { // close by one signal, and alone in having the other
		with = append(with, RankedQuestion{ID: fmt.Sprint("nonsense/", i), Signals: []float64{2, 1}, Without: Nonsense})
	}
	nonsense, total := 0.0, 0.0
	for _, q := range withMixtureWeights(with) {
		total += q.Weight
		if q.Without == Nonsense {
			nonsense += q.Weight
		}
	}
	near(t, "the weight of nonsense", nonsense/(total-nonsense), .05, 1e-12)
	names := []string{"close", "odd"}
	plain, err := FitConfidence(names, asked, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	fit, err := FitConfidence(names, withMixtureWeights(with), 1, nil)
	if err != nil || len(fit.Outcomes) != len(asked) {
		t.Fatalf("%d outcomes of %d questions: %v", len(fit.Outcomes), len(asked), err)
	}
	before, err := plain.Confidence.Of([]float64{2, 1})
	after, err2 := fit.Confidence.Of([]float64{2, 1})
	if err != nil || err2 != nil || before < .6 || after > .1 {
		t.Errorf("nonsense has a confidence of %.2f, without it in the fit %.2f: %v %v", after, before, err, err2)
	}
}

// TestWeightsAreRepetitions: what counts for three is what is there three times.
func TestWeightsAreRepetitions(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	var once, thrice []signalOutcome
	var weighted, plain []Outcome
	for range 200 {
		s := rng.Float64()
		o := signalOutcome{Signals: []float64{s}, Correct: rng.Float64() < s}
		for range 3 {
			thrice = append(thrice, o)
			plain = append(plain, Outcome{Confidence: s, Correct: o.Correct})
		}
		o.Weight = 3
		once = append(once, o)
		weighted = append(weighted, Outcome{s, o.Correct, 3})
	}
	for name, prior := range map[string]*Logistic{"alone": nil,
		"about a prior": {Intercept: 1, Signals: []Term{{"s", -2}}}} {
		a, err := fitLogistic([]string{"s"}, once, prior)
		if err != nil {
			t.Fatal(err)
		}
		b, err := fitLogistic([]string{"s"}, thrice, prior)
		if err != nil {
			t.Fatal(err)
		}
		near(t, name+": intercept", a.Intercept, b.Intercept, 1e-6)
		near(t, name+": coefficient", a.Signals[0].Coefficient, b.Signals[0].Coefficient, 1e-6)
	}
	area, _ := AUROC(weighted)
	want, _ := AUROC(plain)
	near(t, "AUROC", area, want, 1e-9)
	a, b := Summarise(weighted), Summarise(plain)
	near(t, "ECE", a.ECE, b.ECE, 1e-9)
	near(t, "Brier", a.Brier, b.Brier, 1e-9)
	near(t, "right and sure", AtLeast(outcomes(t, []float64{.6, .4, .9}, "110"), .5, true), .5, 0)
	near(t, "nobody", AtLeast(nil, .5, true), 0, 0)
}

// TestPriorGivesWay: a prior that says the contrary of the questions is believed by
// few, and not by many.
func TestPriorGivesWay(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 1))
	prior := &Logistic{Intercept: 2, Signals: []Term{{"s", -4}}} // the truth is the contrary
	at := func(n int) float64 {
		var all []signalOutcome
		for range n {
			s := rng.Float64()
			all = append(all, signalOutcome{Signals: []float64{s}, Correct: rng.Float64() < sigmoid(4*s-2)})
		}
		l, err := fitLogistic([]string{"s"}, all, prior)
		if err != nil {
			t.Fatal(err)
		}
		return l.Signals[0].Coefficient
	}
	if few, many := at(10), at(4000); few > -1.5 || math.Abs(many-4) > 1 {
		t.Errorf("the coefficient is %v after 10 questions and %v after 4,000: -4 is the prior's and 4 the truth", few, many)
	}
	if _, err := fitLogistic([]string{"other"}, []signalOutcome{{[]float64{1}, true, 0, false}}, prior); err == nil {
		t.Error("a prior for other signals was taken")
	}
}

// TestLevelGivesWayFirst: a prior that is right but for its level, by 3 in log-odds, is
// mended by 200 questions, which leave its coefficients where they were.
func TestLevelGivesWayFirst(t *testing.T) {
	rng := rand.New(rand.NewPCG(34, 1))
	prior := &Logistic{Intercept: -4, Signals: []Term{{"s", 2}}}
	var all []signalOutcome
	for range 200 {
		s := rng.Float64()
		all = append(all, signalOutcome{Signals: []float64{s}, Correct: rng.Float64() < sigmoid(2*s-1)})
	}
	l, err := fitLogistic([]string{"s"}, all, prior)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the coefficient", l.Signals[0].Coefficient, 2, .5)
	near(t, "the level", l.Intercept+l.Signals[0].Coefficient/2, 0, .6)
}

// TestFitPrior: three domains that agree are each known by the others, and every
// domain counts the same.
func TestFitPrior(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 1))
	draw := func(n int, kind Without, chance func(s float64) float64) []RankedQuestion {
		out := make([]RankedQuestion, n)
		for i := range out {
			signals := make([]float64, len(fusion.SignalNames()))
			signals[2] = rng.Float64()
			out[i] = RankedQuestion{ID: fmt.Sprint(i), Signals: signals, Without: kind}
			if rng.Float64() < chance(signals[2]) {
				out[i].First = 1
			}
		}
		return out
	}
	truth := func(s float64) float64 { return sigmoid(6*s - 3) }
	var domains []PriorQuestions
	for i, n := range []int{300, 600, 1200} {
		domains = append(
			domains,
			PriorQuestions{
				Domain:  fmt.Sprint("d", i),
				Answers: slices.Concat(draw(n, Answerable, truth), draw(n, TakenOut, truth), draw(n, Unanswerable, truth)),
			},
		)
	}
	p, all, err := FitPrior(domains)
	if err != nil || p.Check() != nil || len(p.LeftOut) != 3 || p.For(5) == nil || p.For(2) != nil {
		t.Fatal(p, err)
	}
	near(t, "the coefficient", p.Chances[0].Logistic.Signals[2].Coefficient, 6, 1)
	if all.ECE > .04 || all.Questions != 2100 || all.Shippable() != nil {
		t.Errorf("%+v of domains left out", all)
	}
	all.ECE = .11
	if all.Shippable() == nil {
		t.Error("an ECE of 0.11 can be shipped")
	}
	p.Signals = p.Signals[1:]
	if p.Check() == nil {
		t.Error("a prior for other signals was taken")
	}
	if _, _, err := FitPrior([]PriorQuestions{{Domain: "d", Answers: domains[0].Answers[:600]}}); err == nil {
		t.Error("a domain without foreign questions was taken")
	}
}

// TestGeneratedAreAnsweredByWhatHoldsThem: by the passages that have all that was drawn;
// what else the question says does not matter.
func TestGeneratedAreAnsweredByWhatHoldsThem(t *testing.T) {
	var table fusion.Candidates
	if err := table.Reset([][]rank.Hit{{{Ordinal: 3, Score: 3}, {Ordinal: 5, Score: 2},
		{Ordinal: 8, Score: 1}}}); err != nil {
		t.Fatal(err)
	}
	sets := map[rank.Ordinal]uint64{3: 0b0110, 5: 0b1110, 8: 0b1011}
	q := Question{Table: &table, Wording: fusion.Wording{Keys: fusion.Keys{
		List:  []fusion.Key{{Text: "who"}, {Text: "Ana"}, {Text: "Peña?"}, {Text: "has"}},
		SetOf: func(o rank.Ordinal) uint64 { return sets[o] },
	}}}
	for drawn, want := range map[string][]rank.Ordinal{"Ana Peña": {3, 5}, "Ana": {3, 5, 8}, "of Peña": {3, 5},
		"elsewhere": nil} {
		q.drawn = drawn
		q.markRelevant()
		if got := slices.Sorted(maps.Keys(q.Relevant)); !slices.Equal(got, want) {
			t.Errorf("%q is answered by %v, want %v", drawn, got, want)
		}
	}
}

// TestGeneratedWeigh: they count so much, and are in no figure.
func TestGeneratedWeigh(t *testing.T) {
	answers := []RankedQuestion{{}, {}, {Without: TakenOut}, {Without: TakenOut}, {Without: There}, {Without: Absent},
		{Without: Absent}}
	sums := map[Without]float64{}
	for _, a := range withMixtureWeights(answers) {
		sums[a.Without] += a.Weight
	}
	if want := map[Without]float64{Answerable: 2, TakenOut: 2. / 3, There: 2 * generatedShare,
		Absent: 2 * generatedShare}; !maps.Equal(sums, want) {
		t.Errorf("weights %v, want %v", sums, want)
	}
	for _, w := range []Without{There, Absent, Nonsense} {
		if w.isMeasured() {
			t.Errorf("%q is measured", w)
		}
	}
}

// TestJudged: questions about other things, which nobody judged, keep the confidence of such answers where the
// shipped one has it, in place of where a signal that tells nothing among the collection's own questions would take
// it; each counts as a right and a wrong one with the shares of the shipped chance. They are in no figure, and weigh
// the less the more questions are said to be unanswerable.
func TestJudged(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 1))
	names := []string{"close", "ahead"}
	shipped := &Logistic{Intercept: -3, Signals: []Term{{Name: "close", Coefficient: 4}, {Name: "ahead", Coefficient: 1}}}
	var own, foreign []RankedQuestion
	for i := range 400 { // all of the collection's own are close, right or wrong
		q := RankedQuestion{ID: fmt.Sprint(i), Signals: []float64{1 + .1*rng.NormFloat64(), rng.NormFloat64()}}
		if q.Signals[1]+rng.NormFloat64() > 0 {
			q.First = 1
		}
		own = append(own, q)
	}
	for i := range 100 {
		q := RankedQuestion{ID: fmt.Sprint("judged/", i), Signals: []float64{.3 * rng.Float64(), rng.NormFloat64()}}
		q.Without = Judged
		foreign = append(foreign, q)
	}
	fitted := func(answers []RankedQuestion) (at []float64) {
		t.Helper()
		all, err := splitJudged(withMixtureWeights(answers), shipped)
		if err != nil {
			t.Fatal(err)
		}
		fit, err := FitConfidence(names, all, 1, shipped)
		if err != nil || len(fit.Outcomes) != len(own) {
			t.Fatalf("%d outcomes, %v", len(fit.Outcomes), err)
		}
		for _, q := range foreign {
			c, err := fit.Confidence.Of(q.Signals)
			if err != nil {
				t.Fatal(err)
			}
			at = append(at, c)
		}
		return at
	}
	refused := func(confidences []float64) (n int) {
		for _, c := range confidences {
			if c < .2 {
				n++
			}
		}
		return n
	}
	var before []float64
	for _, q := range foreign {
		c, err := shipped.Of(q.Signals)
		if err != nil {
			t.Fatal(err)
		}
		before = append(before, c)
	}
	without, with := fitted(own), fitted(append(slices.Clone(own), foreign...))
	if s, a, b := refused(before), refused(without), refused(with); s < 65 || a > s-10 || b < s-3 {
		t.Errorf("of 100 foreign questions %d are refused as shipped, %d calibrated, %d with judged questions", s, a, b)
	}
	sum := func(answers []RankedQuestion) (right, wrong float64) {
		all, err := splitJudged(withMixtureWeights(answers), shipped)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			switch {
			case a.Without != Judged:
			case a.First == 1:
				right += a.Weight
			default:
				wrong += a.Weight
			}
		}
		return right, wrong
	}
	right, wrong := sum(append(slices.Clone(own), foreign...))
	near(t, "their weight", right+wrong, judgedShare*400, 1e-9)
	near(t, "that of right ones", right/(right+wrong), stat.Mean(before, nil), 1e-9)
	said := slices.Repeat([]RankedQuestion{{Without: Unanswerable, Signals: []float64{0, 0}}}, 100)
	right, wrong = sum(slices.Concat(own, said, foreign))
	near(t, "beside 100 that are said to be unanswerable", right+wrong, judgedShare*200, 1e-9)
	right, wrong = sum(slices.Concat(own, said, said, said, foreign))
	near(t, "beside 300", right+wrong, 0, 0)
	if all, err := splitJudged(withMixtureWeights(append(slices.Clone(own), foreign...)), nil); err != nil ||
		len(all) != len(own) {
		t.Errorf("without what is shipped %d are left: %v", len(all), err)
	}
}
