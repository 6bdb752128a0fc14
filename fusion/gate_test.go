package fusion

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"example.org/conclave/internal/rank"
)

// twoExperts returns a table of a specialist, a generalist and BM25, whose features
// can be read off.
func twoExperts(t *testing.T) (*Candidates, []ObservedSource) {
	t.Helper()
	var c Candidates
	if err := c.Reset([][]rank.Hit{
		{{Ordinal: 1, Score: .9}, {Ordinal: 2, Score: .7}, {Ordinal: 3, Score: .6}},
		{{Ordinal: 2, Score: .8}, {Ordinal: 1, Score: .5}},
		{{Ordinal: 4, Score: 10}, {Ordinal: 1, Score: 5}},
	}); err != nil {
		t.Fatal(err)
	}
	for column, scores := range [][]float32{{.1}, {.2, .3}, {0, 0}} { // of passages 4; 3 and 4; 2 and 3
		if err := c.Complete(column, scores); err != nil {
			t.Fatal(err)
		}
	}
	return &c, []ObservedSource{
		{Column: 0, Kind: Specialist, Familiarity: .6, Confidence: .25},
		{Column: 1, Kind: Base, Confidence: -1},
		{Column: 2, Kind: Lexical, UpperBound: 25},
	}
}

// TestFeaturesByHand: sums that were done on paper.
func TestFeaturesByHand(t *testing.T) {
	c, sources := twoExperts(t)
	f := FeaturesOf(c, sources)
	want := [][]float64{
		{0, 0, .6, .25, .2, .3, .1}, // shares passage 1 with BM25's first ten
		{0, 0, .6, 0, .3, .3, .1},
	}
	for i := range want {
		near(t, "dense", f.Dense[i], want[i])
	}
	near(t, "lexical", f.Lexical, []float64{.6, math.Log(11), .4, .5, .5, .1,
		math.Log(math.Sqrt(17.1875) + .05), (-.075/.325 - .05/.35) / 2, 0})
	if got := Familiarity([]float32{.1, .9, .5, .7}, 2); math.Abs(got-.8) > 1e-7 {
		t.Errorf("familiarity %v, want the mean of .9 and .7", got)
	}
	if got := Familiarity(nil, 10); got != 0 {
		t.Errorf("familiarity with nobody: %v", got)
	}
}

// TestGateByHand: logits ln 3 + 0.25·ln 3 and 0 with a coefficient of ln 3 for
// the confidence, BM25 weighted e^(-3).
func TestGateByHand(t *testing.T) {
	c, sources := twoExperts(t)
	g := Gate{
		Specialist: math.Log(3),
		Generalist: 7,
		Dense:      make([]float64, denseFeatures),
		Lexical:    make([]float64, lexicalFeatures),
		Words:      -3,
	}
	g.Dense[surest] = 4 * math.Log(3) // times .25
	r, err := Gated(c, &g, sources, Exact, 4)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "weights", r.Weights, []float64{.9, .1, math.Exp(-3)})
	w := math.Exp(-3)
	scores := map[rank.Ordinal]float64{1: .9*.9 + .1*.5 + 5*w, 2: .9*.7 + .1*.8, 3: .9*.6 + .1*.2, 4: .9*.1 + .1*.3 + 10*w}
	for i, item := range r.Items {
		sum := 0.0
		for _, p := range item.Parts {
			sum += p.Contribution
		}
		if math.Abs(item.Score-scores[item.Ordinal]) > 1e-7 || math.Abs(sum-item.Score) > 1e-12 {
			t.Errorf("rank %d: passage %d has %v (parts %v), want %v", i+1, item.Ordinal, item.Score, sum, scores[item.Ordinal])
		}
	}
}

// TestGatePhrasesByHand: phrases weigh a share of what the words weigh, nothing
// without words, and are no part of the features.
func TestGatePhrasesByHand(t *testing.T) {
	var c Candidates
	if err := c.Reset([][]rank.Hit{
		{{Ordinal: 1, Score: .9}, {Ordinal: 2, Score: .7}},
		{{Ordinal: 2, Score: 10}, {Ordinal: 1, Score: 4}},
		{{Ordinal: 2, Score: 5}, {Ordinal: 3, Score: 2}},
	}); err != nil {
		t.Fatal(err)
	}
	for column, scores := range [][]float32{{.1}, {1}, {0}} {
		if err := c.Complete(column, scores); err != nil {
			t.Fatal(err)
		}
	}
	sources := []ObservedSource{
		{Column: 0, Kind: Generalist, Confidence: -1},
		{Column: 1, Kind: Lexical, UpperBound: 20},
		{Column: 2, Kind: Phrases},
	}
	g := Gate{
		Dense:   make([]float64, denseFeatures),
		Lexical: make([]float64, lexicalFeatures),
		Words:   math.Log(.1),
		Phrases: .5,
	}
	r, err := Gated(&c, &g, sources, Exact, 3)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "weights", r.Weights, []float64{1, .1, .05})
	want := map[rank.Ordinal]float64{1: .9 + .4, 2: .7 + 1 + .25, 3: .1 + .1 + .1}
	for _, item := range r.Items {
		if math.Abs(item.Score-want[item.Ordinal]) > 1e-6 {
			t.Errorf("passage %d has %v, want %v", item.Ordinal, item.Score, want[item.Ordinal])
		}
	}
	with, without := FeaturesOf(&c, sources), FeaturesOf(&c, sources[:2])
	if !reflect.DeepEqual(with.Dense, without.Dense) ||
		!slices.Equal(with.Lexical[:wordsSpread], without.Lexical[:wordsSpread]) {
		t.Errorf("features with phrases %v, without %v", with, without)
	}
	for at, o := range sources {
		if signals := SourceSignals(&c, sources, with, at); (signals == nil) != (o.Kind == Phrases) {
			t.Errorf("signals of %s: %v", o.Kind, signals)
		}
	}
	wordless := []ObservedSource{sources[0], sources[2]}
	near(t, "weights without words", []float64{g.Weigh(nil, wordless, FeaturesOf(&c, wordless))[1].Weight}, []float64{0})
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		g.Phrases = bad
		if g.Check() == nil {
			t.Errorf("phrases' weight %v was accepted", bad)
		}
	}
}

// TestGateProperties: dense weights are shares, the order of the sources does
// not matter, and no feature makes a weight that is not a number.
func TestGateProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		c, sources := twoExperts(t)
		g := Gate{
			Specialist: random.NormFloat64() * 100,
			Generalist: random.NormFloat64() * 100,
			Base:       random.NormFloat64() * 100,
			Words:      random.NormFloat64() * 100,
		}
		for range denseFeatures {
			g.Dense = append(g.Dense, random.NormFloat64()*1000)
		}
		for range lexicalFeatures {
			g.Lexical = append(g.Lexical, random.NormFloat64()*1000)
		}
		first := g.Weigh(nil, sources, FeaturesOf(c, sources))
		if sum := first[0].Weight + first[1].Weight; math.Abs(sum-1) > 1e-12 || !(first[2].Weight >= 0) ||
			math.IsInf(first[2].Weight, 0) {
			t.Fatalf("weights %v of gate %+v", first, g)
		}
		swapped := []ObservedSource{sources[2], sources[1], sources[0]}
		for i, s := range g.Weigh(nil, swapped, FeaturesOf(c, swapped)) {
			if s != first[2-i] {
				t.Fatalf("%v in another order, %v before", s, first[2-i])
			}
		}
	}
}

func TestGateRefuses(t *testing.T) {
	c, sources := twoExperts(t)
	good := Gate{Dense: make([]float64, denseFeatures), Lexical: make([]float64, lexicalFeatures)}
	short, endless := good, good
	short.Dense = short.Dense[1:]
	endless.Words = math.NaN()
	for name, g := range map[string]*Gate{"short": &short, "endless": &endless} {
		if _, err := Gated(c, g, sources, Exact, 3); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := Gated(c, &good, append(sources, ObservedSource{Column: 7}), Exact, 3); err == nil {
		t.Error("a source that is not there was accepted")
	}
}

// TestGateOfEmptyLists: a source without hits, and none with hits at all.
func TestGateOfEmptyLists(t *testing.T) {
	var c Candidates
	if err := c.Reset([][]rank.Hit{nil, nil, nil}); err != nil {
		t.Fatal(err)
	}
	_, sources := twoExperts(t)
	g := Gate{Dense: make([]float64, denseFeatures), Lexical: make([]float64, lexicalFeatures)}
	r, err := Gated(&c, &g, sources, Exact, 3)
	if err != nil || len(r.Items) != 0 {
		t.Errorf("%v, %v", r, err)
	}
}

func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-6 {
			t.Errorf("%s: %v, want %v", what, got, want)
			return
		}
	}
}

// TestScoresOfAnotherEncoder: the scores of an encoder that is no relative of the base count by how far they spread
// over random passages: with a spread of a fifth of the base's five times as much. Fewer random passages than
// LeastRandom change nothing, and neither does a gate that does not know the base's spread.
func TestScoresOfAnotherEncoder(t *testing.T) {
	g := &Gate{Dense: make([]float64, denseFeatures), Lexical: make([]float64, lexicalFeatures), Spread: .1}
	var random []rank.Hit
	for i := range LeastRandom {
		random = append(random, rank.Hit{Ordinal: rank.Ordinal(i), Score: .8 + .02*float32(i%2*2-1)})
	}
	source := ObservedSource{Kind: Generalist, Foreign: true, Random: random}
	weight := func(g *Gate, s ObservedSource) float64 {
		return g.Weigh(nil, []ObservedSource{s}, Features{Dense: [][]float64{make([]float64, denseFeatures)}})[0].Weight
	}
	few, own := source, source
	unknown := *g
	few.Random = random[:LeastRandom-1]
	own.Foreign = false
	unknown.Spread = 0
	if got := weight(g, source); math.Abs(got-5) > 1e-4 {
		t.Errorf("weight %v, want 5", got)
	}
	for name, got := range map[string]float64{
		"few random passages": weight(g, few), "an expert of the base": weight(g, own),
		"no spread": weight(&unknown, source),
	} {
		if got != 1 {
			t.Errorf("%s: weight %v, want 1", name, got)
		}
	}
}

// TestWordsBesideAnotherEncoder: where an encoder of its own is the only dense source, words count by ForeignWords,
// also beside late interaction by its states; beside the base's late interaction, or with the base, as ever.
func TestWordsBesideAnotherEncoder(t *testing.T) {
	g := &Gate{Dense: make([]float64, denseFeatures), Lexical: make([]float64, lexicalFeatures), Phrases: .5,
		Late: make([]float64, lateFeatures), ForeignWords: .1}
	f := Features{
		Dense: [][]float64{make([]float64, denseFeatures)}, Lexical: make([]float64, lexicalFeatures),
		Late: make([]float64, lateFeatures),
	}
	foreign := ObservedSource{Kind: Generalist, Foreign: true}
	words, phrases := ObservedSource{Kind: Lexical}, ObservedSource{Kind: Phrases}
	for name, c := range map[string]struct {
		sources []ObservedSource
		want    float64
	}{
		"alone":                {[]ObservedSource{foreign, words, phrases}, .1},
		"the base's late":      {[]ObservedSource{foreign, words, phrases, {Kind: Late}}, 1},
		"its late interaction": {[]ObservedSource{foreign, words, phrases, {Kind: Late, Foreign: true}}, .1},
		"the base":             {[]ObservedSource{{Kind: Base}, words, phrases}, 1},
		"the default":          {[]ObservedSource{{Kind: Base}, words, phrases, {Kind: Late}}, 1},
		"a relative of it":     {[]ObservedSource{{Kind: Generalist}, words, phrases}, 1},
	} {
		got := g.Weigh(nil, c.sources, f)
		if math.Abs(got[1].Weight-c.want) > 1e-12 || math.Abs(got[2].Weight-c.want/2) > 1e-12 {
			t.Errorf("%s: %v and %v, want %v and half of it", name, got[1].Weight, got[2].Weight, c.want)
		}
	}
}
