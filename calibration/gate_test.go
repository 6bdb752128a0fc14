package calibration

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
)

// planted makes questions with two specialists, a generalist and BM25. The
// specialist that is familiar with the question ranks its answer first, the
// other one is wrong, the generalist and BM25 are noise.
func planted(t *testing.T, n int, seed uint64) []Question {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	questions := make([]Question, n)
	for i := range questions {
		const passages = 12
		answer := rank.Ordinal(random.IntN(passages))
		home := random.IntN(2)
		lists := make([][]rank.Hit, 4)
		for s := range lists {
			for o := range rank.Ordinal(passages) {
				score := random.Float32() * .5
				switch {
				case s == home && o == answer:
					score += .3
				case s == 1-home && o == (answer+1)%passages:
					score += .6
				case s == 3:
					score *= 20
				}
				lists[s] = append(lists[s], rank.Hit{Ordinal: o, Score: score})
			}
			rank.Sort(lists[s])
		}
		q := Question{ID: fmt.Sprint("q", i), Table: new(fusion.Candidates), Relevant: map[rank.Ordinal]float64{answer: 1}}
		if err := q.Table.Reset(lists); err != nil {
			t.Fatal(err)
		}
		near := []float64{.3, .3}
		near[home] += .2 + .1*random.Float64()
		q.Sources = []fusion.ObservedSource{
			{Column: 0, Kind: fusion.Specialist, Familiarity: near[0], Confidence: random.Float64()},
			{Column: 1, Kind: fusion.Specialist, Familiarity: near[1], Confidence: random.Float64()},
			{Column: 2, Kind: fusion.Generalist, Confidence: -1},
			{Column: 3, Kind: fusion.Lexical},
		}
		questions[i] = q
	}
	return questions
}

func topOne(t *testing.T, questions []Question, g *fusion.Gate) float64 {
	t.Helper()
	right := 0.0
	for _, q := range questions {
		r, err := fusion.Gated(q.Table, g, q.Sources, fusion.Exact, 1)
		if err != nil {
			t.Fatal(err)
		}
		right += q.Relevant[r.Items[0].Ordinal]
	}
	return right / float64(len(questions))
}

// TestGateFindsWhoKnows: on questions that it was not fitted on, the fitted
// gate listens to the familiar specialist, which equal weights do not.
func TestGateFindsWhoKnows(t *testing.T) {
	fit, err := FitGate(context.Background(), planted(t, 300, 1), GateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	others := planted(t, 300, 2)
	equal := fusion.Gate{
		Dense:   make([]float64, len(fusion.DenseFeatureNames())),
		Lexical: make([]float64, len(fusion.LexicalFeatureNames())),
		Words:   math.Log(.03),
	}
	before, after := topOne(t, others, &equal), topOne(t, others, &fit)
	t.Logf("top-1 with equal weights %.3f, with the gate %.3f, %+v", before, after, fit)
	// The best that weights can do is about the familiar specialist alone.
	alone := 0.0
	for _, q := range others {
		home := 0
		if q.Sources[1].Familiarity > q.Sources[0].Familiarity {
			home = 1
		}
		r, err := fusion.Sum(q.Table, []fusion.Source{{Column: home, Weight: 1}}, fusion.LinearOptions{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		alone += q.Relevant[r.Items[0].Ordinal] / float64(len(others))
	}
	if after < alone-.03 || after < before+.2 {
		t.Errorf("top-1 %.3f with the gate, %.3f without, %.3f for the specialist who knows", after, before, alone)
	}
	again, err := FitGate(context.Background(), planted(t, 300, 1), GateOptions{})
	if err != nil || fmt.Sprint(again) != fmt.Sprint(fit) {
		t.Errorf("another fit of the same: %v, %v", again, err)
	}
}

// TestGateGradient compares with differences of the loss.
func TestGateGradient(t *testing.T) {
	questions := planted(t, 20, 3)
	for i := range questions {
		if i%2 == 0 { // half of them with phrases: the last dense source's column
			questions[i].Sources[2].Kind = fusion.Phrases
		} else if i%3 == 0 { // and some with nearness there
			questions[i].Sources[2].Kind = fusion.Near
		}
		if i%3 == 0 {
			followed(t, &questions[i], func(o rank.Ordinal) float32 { return float32(o%7) / 7 })
		}
	}
	p := problemFor(t, questions)
	for i := range p.questions {
		q := &p.questions[i]
		q.prior, q.scales = &fusion.Gate{BesideNear: .7, ForeignWords: .3}, make([]float64, len(q.sources))
		for at := range q.scales {
			q.scales[at] = 1 + float64(at)/4
		}
		q.sources[0].Foreign = i%2 == 0
	}
	random := rand.New(rand.NewPCG(9, 9))
	x, grad := make([]float64, parameters), make([]float64, parameters)
	for i := range x {
		x[i] = random.NormFloat64() * .3
	}
	x[atWords] = -3
	p.loss(x, grad)
	for i := range x {
		const h = 1e-5
		before := x[i]
		x[i] = before + h
		up := p.loss(x, nil)
		x[i] = before - h
		down := p.loss(x, nil)
		x[i] = before
		if d := (up - down) / (2 * h); math.Abs(d-grad[i]) > 1e-6*(1+math.Abs(d)) {
			t.Errorf("parameter %d: gradient %v, differences say %v", i, grad[i], d)
		}
	}
}

// TestGateFindsPhrases: where phrases, or nearness, know the answer better than words, the
// fit gives them more than words; where they are noise, next to nothing; and
// without them the gate says nothing of them.
func TestGateFindsPhrases(t *testing.T) {
	for kind, weight := range map[fusion.SourceKind]func(*fusion.Gate) float64{
		fusion.Phrases: func(g *fusion.Gate) float64 { return g.Phrases },
		fusion.Near:    func(g *fusion.Gate) float64 { return g.Near },
	} {
		testGateFinds(t, kind, weight)
	}
}

// testGateFinds does what TestGateFindsPhrases says for a source of a kind, whose weight beside words weight returns.
func testGateFinds(t *testing.T, kind fusion.SourceKind, weight func(*fusion.Gate) float64) {
	fitted := func(useful bool) float64 {
		random := rand.New(rand.NewPCG(4, 4))
		questions := planted(t, 300, 4)
		for i := range questions {
			q := &questions[i]
			lists := make([][]rank.Hit, 5)
			q.Table.Each(fusion.Exact, func(row int, scores []float64) {
				o := q.Table.Ordinal(row)
				for s, score := range scores {
					if s == 3 {
						score += 2 * q.Relevant[o] // words know a little
					}
					lists[s] = append(lists[s], rank.Hit{Ordinal: o, Score: float32(score)})
				}
				score := random.Float32() * 10
				if useful {
					score += 4 * float32(q.Relevant[o])
				}
				lists[4] = append(lists[4], rank.Hit{Ordinal: o, Score: score})
			})
			for s := range lists {
				rank.Sort(lists[s])
			}
			if err := q.Table.Reset(lists); err != nil {
				t.Fatal(err)
			}
			q.Sources = append(q.Sources, fusion.ObservedSource{Column: 4, Kind: kind})
		}
		fit, err := FitGate(context.Background(), questions, GateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return weight(&fit)
	}
	useful, noise := fitted(true), fitted(false)
	t.Logf("%s' weight beside words where they know %.4f, where they are noise %.4f", kind, useful, noise)
	if useful < 1 || noise > .2 {
		t.Errorf("%s weigh %v beside words where they know more, and %v where they are noise", kind, useful, noise)
	}
	fit, err := FitGate(context.Background(), planted(t, 50, 5), GateOptions{})
	if err != nil || weight(&fit) != 0 {
		t.Errorf("a gate fitted without %s gives them %v (%v)", kind, weight(&fit), err)
	}
}

func TestGateRefusesNothing(t *testing.T) {
	questions := planted(t, 5, 4)
	for i := range questions {
		questions[i].Relevant = nil
	}
	if _, err := FitGate(context.Background(), questions, GateOptions{}); err == nil {
		t.Error("a gate was fitted on questions without answers")
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := FitGate(ended, planted(t, 5, 4), GateOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestFewSpecialists: a gate for the most familiar specialist alone is fitted
// as if the second was not there, candidates included.
func TestFewSpecialists(t *testing.T) {
	if got := nearestAlone(t, planted(t, 80, 5)); got < .6 {
		t.Errorf("top-1 on other folds is %.3f", got)
	}
}

// nearestAlone compares a gate that asks the most familiar specialist with one
// for which the other never was: in the table, its candidates, and all that is
// read from them. It returns the top-1 accuracy on other folds.
func nearestAlone(t *testing.T, questions []Question) float64 {
	t.Helper()
	fewer := make([]Question, len(questions))
	for i, q := range questions {
		away := 1
		if q.Sources[1].Familiarity > q.Sources[0].Familiarity {
			away = 0
		}
		sources := slices.Delete(slices.Clone(q.Sources), away, away+1)
		var columns []int
		for column := range sources {
			columns = append(columns, sources[column].Column)
			sources[column].Column = column
		}
		table, err := q.Table.Only(columns)
		if err != nil {
			t.Fatal(err)
		}
		q.Table, q.Sources = table, sources
		fewer[i] = q
	}
	one, err := holdOutGate(context.Background(), questions, GateOptions{Specialists: 1})
	if err != nil {
		t.Fatal(err)
	}
	same, err := holdOutGate(context.Background(), fewer, GateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(one, same) {
		t.Error("the second specialist changed the answers")
	}
	return Accuracy(one, 1)
}

// holdOutGate answers every question with a gate that was fitted on the other folds.
func holdOutGate(ctx context.Context, questions []Question, o GateOptions) ([]MethodAnswer, error) {
	gates, err := FoldGates(ctx, questions, o)
	if err != nil {
		return nil, err
	}
	return AnswerByFold(gates, questions, o.Specialists)
}

// problemFor returns what FitGate makes of questions.
func problemFor(t *testing.T, questions []Question) *gateProblem {
	t.Helper()
	forms, err := formsOf(questions, 0)
	if err != nil {
		t.Fatal(err)
	}
	return problemOf(forms)
}

// TestCoarseToFine: by way of a part of the questions the fit finds the minimum
// that it finds without, with a few steps over all of them, and the same one on
// any number of processors.
func TestCoarseToFine(t *testing.T) {
	p := problemFor(t, planted(t, 1600, 11))
	ctx := context.Background()
	_, plain, err := runBFGS(ctx, p.plainCoordinates(gateStart()), 1000, stopRule{1e-11, 1e-9, 0})
	if err != nil {
		t.Fatal(err)
	}
	x, loss, err := p.minimise(ctx, gateStart(), 200)
	if err != nil || math.Abs(loss-plain) > 1e-5 {
		t.Errorf("loss %v, without the part %v: %v", loss, plain, err)
	}
	_, slow, _ := runBFGS(ctx, p.plainCoordinates(gateStart()), 30, exactly)
	if _, quick, _ := p.minimise(ctx, gateStart(), 30); quick-plain > (slow-plain)/4 {
		t.Errorf(
			"after thirty steps over all questions the loss is %v, without the part %v, in the end %v",
			quick,
			slow,
			plain,
		)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	alone, _, err := p.minimise(ctx, gateStart(), 200)
	if err != nil || !slices.Equal(x, alone) {
		t.Errorf("on one processor the parameters are %v, else %v: %v", alone, x, err)
	}
}

// TestMisleadingPart: where the part is unlike the other questions, the fit is as
// good as without it.
func TestMisleadingPart(t *testing.T) {
	questions := planted(t, 800, 12)
	for i := range questions {
		if i%2 == 0 { // those of the part: whoever is familiar is wrong
			questions[i].Sources[0].Column, questions[i].Sources[1].Column = 1, 0
		}
	}
	p := problemFor(t, questions)
	ctx := context.Background()
	_, plain, err := runBFGS(ctx, p.plainCoordinates(gateStart()), 200, exactly)
	if err != nil {
		t.Fatal(err)
	}
	if _, loss, err := p.minimise(ctx, gateStart(), 200); err != nil || loss > plain+1e-5 {
		t.Errorf("loss %v, without the part %v: %v", loss, plain, err)
	}
}

// TestPartKeepsQuestionsWhole: a question is in the part with all its forms or
// with none.
func TestPartKeepsQuestionsWhole(t *testing.T) {
	p := gateProblem{}
	for _, of := range []int{0, 0, 2, 2, 3, 5, 5, 7} {
		p.questions = append(p.questions, gateForm{index: of})
	}
	var got []int
	for _, q := range p.subsample(2).questions {
		got = append(got, q.index)
	}
	if want := []int{0, 0, 3, 7}; !slices.Equal(got, want) {
		t.Errorf("questions %v, want %v", got, want)
	}
}

// TestFoldsShareForms: a fold's problem leaves the forms as they were, so that
// the next is fitted as if it was alone.
func TestFoldsShareForms(t *testing.T) {
	questions := planted(t, 60, 13)
	gates, err := FoldGates(context.Background(), questions, GateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for fold, gate := range gates {
		others := slices.DeleteFunc(slices.Clone(questions), func(q Question) bool { return foldOf(q.ID) == fold })
		alone, err := FitGate(context.Background(), others, GateOptions{})
		if err != nil || !reflect.DeepEqual(alone, gate) {
			t.Errorf("fold %d: %+v, alone %+v, %v", fold, gate, alone, err)
		}
	}
}

// TestFewQuestionsMoveLittle: a gate that was fitted on many questions is hardly
// changed by ten that say the opposite, and overruled by three hundred of them.
func TestFewQuestionsMoveLittle(t *testing.T) {
	ctx := context.Background()
	fit, err := FitGate(ctx, planted(t, 300, 1), GateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	shipped := fit
	// The opposite: the specialist that is not familiar knows.
	opposite := func(n int, seed uint64) []Question {
		questions := planted(t, n, seed)
		for i := range questions {
			s := questions[i].Sources
			s[0].Familiarity, s[1].Familiarity = s[1].Familiarity, s[0].Familiarity
		}
		return questions
	}
	as := planted(t, 300, 2)
	other := opposite(300, 3)
	before := topOne(t, as, &shipped)
	few, err := FitGate(ctx, opposite(10, 4), GateOptions{Towards: &shipped, pull: 1e4})
	if err != nil {
		t.Fatal(err)
	}
	if got := topOne(t, as, &few); math.Abs(got-before) > .01 {
		t.Errorf("ten questions beside a pull of 10,000: %v right, before %v", got, before)
	}
	many, err := FitGate(ctx, opposite(300, 5), GateOptions{Towards: &shipped, pull: 10})
	if err != nil {
		t.Fatal(err)
	}
	if was, got := topOne(t, other, &shipped), topOne(t, other, &many); got < was+.2 {
		t.Errorf("300 questions that say the opposite: %v right of such questions, before %v", got, was)
	}
}

// TestPulledToTheOneWithoutLate: questions without late interaction begin with the
// gate for these.
func TestPulledToTheOneWithoutLate(t *testing.T) {
	with := fusion.Gate{
		Dense:   make([]float64, len(fusion.DenseFeatureNames())),
		Lexical: make([]float64, len(fusion.LexicalFeatureNames())),
		Words:   -1,
		Tokens:  .7,
		Late:    make([]float64, len(fusion.LateFeatureNames())),
	}
	without := fusion.Gate{
		Dense:   make([]float64, len(fusion.DenseFeatureNames())),
		Lexical: make([]float64, len(fusion.LexicalFeatureNames())),
		Words:   -2,
	}
	for j := range without.Lexical {
		without.Lexical[j] = float64(j) / 10
	}
	fit, err := FitGate(
		context.Background(), planted(t, 20, 7), GateOptions{Towards: &with, WithoutLate: &without, pull: 1e9},
	)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(fit.Words+2) > 1e-3 || math.Abs(fit.Lexical[5]-.5) > 1e-3 {
		t.Errorf("the fit is %+v, want %+v", fit, without)
	}
}
