package fusion

import (
	"math"
	"testing"

	"example.org/conclave/internal/rank"
)

// The expected values in this file were obtained from the functions that the
// papers' authors and Pyserini published, or worked out by hand where said.

// letters gives the passages of the examples their ordinals.
func letters(t *testing.T, of string, scores ...float32) []rank.Hit {
	t.Helper()
	if len(of) != len(scores) {
		t.Fatalf("%d letters, %d scores", len(of), len(scores))
	}
	hits := make([]rank.Hit, len(of))
	for i, letter := range of {
		hits[i] = rank.Hit{Ordinal: rank.Ordinal(letter - 'a'), Score: scores[i]}
	}
	return hits
}

func table(t testing.TB, lists ...[]rank.Hit) *Candidates {
	t.Helper()
	c := new(Candidates)
	if err := c.Reset(lists); err != nil {
		t.Fatal(err)
	}
	return c
}

// wantRanking compares order and scores, and checks that every score is the
// sum of its contributions.
func wantRanking(t *testing.T, r Ranking, err error, letters string, scores ...float64) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for i, item := range r.Items {
		got += string(rune('a' + item.Ordinal))
		if i < len(scores) && math.Abs(item.Score-scores[i]) > 5e-7 {
			t.Errorf("rank %d (%c): score %.9f, want %.6f", i+1, 'a'+rune(item.Ordinal), item.Score, scores[i])
		}
	}
	if got != letters {
		t.Errorf("order %q, want %q", got, letters)
	}
	checkRanking(t, r)
}

// reporter is a test, or a property that is being checked.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// checkRanking checks what must hold of every ranking.
func checkRanking(t reporter, r Ranking) {
	t.Helper()
	for i, item := range r.Items {
		sum := 0.0
		for _, p := range item.Parts {
			sum += p.Contribution
			if p.Weight != r.Weights[p.Column] {
				t.Errorf("passage %d: weight %v in the part, %v in the ranking", item.Ordinal, p.Weight, r.Weights[p.Column])
			}
			if (p.Rank > 0) != (p.Origin == FromHit) {
				t.Errorf("passage %d: rank %d with origin %v", item.Ordinal, p.Rank, p.Origin)
			}
			if p.Origin == FromNone && (p.Contribution != 0 || p.Score != 0) {
				t.Errorf("passage %d: no score, but %+v", item.Ordinal, p)
			}
		}
		if math.IsNaN(item.Score) || math.IsInf(item.Score, 0) {
			t.Errorf("passage %d: score %v", item.Ordinal, item.Score)
		}
		if math.Abs(sum-item.Score) > 1e-9*math.Max(1, math.Abs(item.Score)) { // scores are rounded (settle)
			t.Errorf("passage %d: contributions add up to %v, score %v", item.Ordinal, sum, item.Score)
		}
		if i > 0 {
			before := r.Items[i-1]
			if before.Score < item.Score || before.Score == item.Score && before.Ordinal >= item.Ordinal {
				t.Errorf("rank %d: %d with %v comes after %d with %v", i+1, item.Ordinal, item.Score, before.Ordinal, before.Score)
			}
		}
	}
}

// TestConfidence holds the values of the authors' get_confidence.
func TestConfidence(t *testing.T) {
	members := func(rows ...[]float32) (scores []float32) {
		for _, row := range rows {
			scores = append(scores, row...)
		}
		return scores
	}
	first := []float32{80, 79.5, 70, 60}
	questions := []struct {
		name   string
		scores []float32
	}{
		{"all agree", members(first, first, first)},
		{"all differ", members(first, []float32{79, 81, 70, 60}, []float32{70, 71, 75, 60})},
		{"two agree", members(first, []float32{80, 81, 70, 60}, []float32{80, 71, 75, 60})},
	}
	for _, want := range []struct {
		temperature float64
		confidences [3]float64
	}{
		{1e-3, [3]float64{1, 1.82e-6, 0.420620746}},
		{1e-2, [3]float64{1, 1.82e-6, 0.420620746}},
		{1, [3]float64{1, 0.372543039, 0.777308904}},
		{10, [3]float64{1, 0.959063816, 0.973248630}},
		{1000, [3]float64{1, 0.999996048, 0.999997281}},
	} {
		for i, q := range questions {
			information, err := MutualInformation(q.scores, 3, want.temperature)
			if err != nil {
				t.Fatal(err)
			}
			if got := Confidence(information, 3); math.Abs(got-want.confidences[i]) > 1e-6 {
				t.Errorf("τ=%v, %s: confidence %.9f, want %.9f", want.temperature, q.name, got, want.confidences[i])
			}
		}
	}
}

// TestConfidenceOfVotes: at a sharp temperature the confidence is
// 1 - H(votes)/ln K, computed apart for K = 20.
func TestConfidenceOfVotes(t *testing.T) {
	const members = 20
	distinct := make([]int, members)
	for i := range distinct {
		distinct[i] = 1
	}
	for _, want := range []struct {
		votes      []int
		confidence float64
	}{
		{[]int{20}, 1},
		{[]int{19, 1}, 0.933733984},
		{[]int{15, 5}, 0.812287917},
		{[]int{10, 10}, 0.768621787},
		{[]int{5, 5, 5, 5}, 0.537243574},
		{distinct, 0},
	} {
		var scores []float32
		for hit, voters := range want.votes {
			for range voters {
				row := make([]float32, members) // as many hits as members
				row[hit] = 1
				scores = append(scores, row...)
			}
		}
		information, err := MutualInformation(scores, members, 1e-3)
		if err != nil {
			t.Fatal(err)
		}
		// The table is of the entropy itself; the 1e-6 inside the authors'
		// logarithm moves it by up to 20·1e-6/ln 20.
		if got := Confidence(information, members); math.Abs(got-want.confidence) > 1e-5 {
			t.Errorf("votes %v: confidence %.9f, want %.9f", want.votes, got, want.confidence)
		}
	}
}

// TestMUF holds the values of the authors' rerank_moe.
func TestMUF(t *testing.T) {
	c := table(t, letters(t, "abc", 82, 80, 78), letters(t, "bda", 75, 74.5, 70))
	r, err := MUF(c, []Source{{0, .9}, {1, .6}}, LinearOptions{Missing: Min}, 10)
	wantRanking(t, r, err, "badc", 78.0, 77.2, 76.6, 74.8)
	if r.Confidence == nil || math.Abs(*r.Confidence-.75) > 1e-12 {
		t.Errorf("confidence %v, want 0.75", r.Confidence)
	}
	if got := r.Items[2].Parts[0]; got.Origin != FromMin || got.Score != 78 || got.Rank != 0 {
		t.Errorf("d by the first expert: %+v, want its lowest score", got)
	}

	// The same with BM25, which the authors give the confidence α, and divide by 1 + α.
	c = table(t, letters(t, "abc", 82, 80, 78), letters(t, "bxa", 20, 18, 12))
	r, err = Hybrid(c, []Source{{0, 1}}, 1, 1.3, LinearOptions{Missing: Min}, 10)
	wantRanking(t, r, err, "bxac", 106, 101.4, 97.6, 93.6)
	for i, want := range []float64{46.086957, 44.086957, 42.434783, 40.695652} {
		if got := r.Items[i].Score / 2.3; math.Abs(got-want) > 1e-6 {
			t.Errorf("rank %d: %v, the authors have %v", i+1, got, want)
		}
	}
}

// TestMUFExact compares with what was worked out by hand: the first expert's true
// score of d is 71, the second's of c is 60.
func TestMUFExact(t *testing.T) {
	c := table(t, letters(t, "abc", 82, 80, 78), letters(t, "bda", 75, 74.5, 70))
	if got := c.Missing(0, nil); len(got) != 1 || got[0] != 'd'-'a' {
		t.Fatalf("missing in the first list: %v, want d", got)
	}
	for source, score := range []float32{71, 60} {
		if err := c.Complete(source, []float32{score}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := MUF(c, []Source{{0, .9}, {1, .6}}, LinearOptions{}, 10)
	wantRanking(t, r, err, "badc", 78.0, 77.2, .6*71+.4*74.5, .6*78+.4*60)
	if got := r.Items[2].Parts[0]; got.Origin != FromExact || got.Score != 71 {
		t.Errorf("d by the first expert: %+v, want the exact score", got)
	}
	// The paper's completion is still to be had from the same table.
	r, err = MUF(c, []Source{{0, .9}, {1, .6}}, LinearOptions{Missing: Min}, 10)
	wantRanking(t, r, err, "badc", 78.0, 77.2, 76.6, 74.8)
}

// TestMUFSharpness compares with what was worked out by hand: the squares of 0.9 and 0.6
// are as 9 and 4. At the limit the surest has all the weight, and confidences that vanish
// in a power do not.
func TestMUFSharpness(t *testing.T) {
	lists := func() *Candidates {
		return table(t, letters(t, "abc", 82, 80, 78), letters(t, "bda", 75, 74.5, 70))
	}
	r, err := MUF(lists(), []Source{{0, .9}, {1, .6}}, LinearOptions{Missing: Min, Sharpness: 2}, 10)
	wantRanking(t, r, err, "badc", (9*80+4*75)/13., (9*82+4*70)/13., (9*78+4*74.5)/13., (9*78+4*70)/13.)
	if r.Confidence == nil || math.Abs(*r.Confidence-.75) > 1e-12 {
		t.Errorf("confidence %v, want 0.75, the mean", r.Confidence)
	}
	for _, scale := range []float64{1, 1e-9} {
		r, err = MUF(
			lists(),
			[]Source{{0, .9 * scale}, {1, .6 * scale}},
			LinearOptions{Missing: Min, Sharpness: MaxSharpness},
			10,
		)
		if err != nil || math.Abs(r.Weights[0]-1) > 1e-12 || r.Weights[1] > 1e-12 {
			t.Errorf("weights %v, %v; want all for the surest", r.Weights, err)
		}
	}
	for _, bad := range []float64{-1, 2 * MaxSharpness, math.NaN(), math.Inf(1)} {
		if _, err := MUF(lists(), []Source{{0, .9}}, LinearOptions{Sharpness: bad}, 10); err == nil {
			t.Errorf("sharpness %v: no error", bad)
		}
	}
	hybrid, err := Hybrid(
		table(t, letters(t, "ab", 82, 80), letters(t, "ba", 75, 70), letters(t, "b", 20)),
		[]Source{{0, .9}, {1, .6}},
		2,
		1,
		LinearOptions{Missing: Min, Sharpness: 2},
		10,
	)
	wantRanking(t, hybrid, err, "ba", (9*80+4*75)/13.+20, (9*82+4*70)/13.+20) // the lowest of BM25 is its only score
}

// TestMUFFamiliar compares with what was worked out by hand: where the familiarities differ by the temperature times
// ln 2, the more familiar expert counts twice, and one without a domain as much as the mean of both familiarities.
func TestMUFFamiliar(t *testing.T) {
	muf, _ := MethodNamed(MethodMUF)
	of := func(familiarities ...float64) Input {
		in := Input{Table: table(t, letters(t, "abc", 82, 80, 78), letters(t, "bda", 75, 74.5, 70))}
		for i, confidence := range []float64{.9, .6} {
			o := ObservedSource{Column: i, Confidence: confidence, Kind: Generalist}
			if i < len(familiarities) {
				o.Kind = Specialist
				o.Familiarity = familiarities[i]
			}
			in.Sources = append(in.Sources, o)
		}
		return in
	}
	twice := familiarityTemperature * math.Ln2
	familiar := Settings{Missing: Min, Sharpness: 1, Weighting: ByFamiliarity}
	for _, c := range []struct {
		in         Input
		a, b       float64 // weights, in parts of their sum
		confidence float64
	}{
		{of(.5, .5-twice), 2 * .9, .6, .75},
		{of(.5, .5+twice), .9, 2 * .6, .75},
		{of(.5), .9, .6, .75}, // the other is as familiar as the mean, which is that of the first
		{of(), .9, .6, .75},   // nothing is known
	} {
		r, err := muf.Fuse(c.in, familiar, 10)
		sum := c.a + c.b
		if err != nil || math.Abs(r.Weights[0]-c.a/sum) > 1e-12 || math.Abs(r.Weights[1]-c.b/sum) > 1e-12 ||
			math.Abs(*r.Confidence-c.confidence) > 1e-12 {
			t.Errorf("%+v: weights %v, confidence %v, %v", c.in.Sources, r.Weights, r.Confidence, err)
		}
		plain, err := muf.Fuse(c.in, Settings{Missing: Min, Sharpness: 1}, 10)
		if err != nil || math.Abs(plain.Weights[0]-.6) > 1e-12 {
			t.Errorf("by certainty: weights %v, %v", plain.Weights, err)
		}
	}
}

func TestMUFSparse(t *testing.T) {
	c := table(t, letters(t, "abc", 82, 80, 78), letters(t, "bda", 75, 74.5, 70))
	r, err := MUFSparse(c, []Source{{0, .6}, {1, .9}}, 10)
	wantRanking(t, r, err, "bda", 75, 74.5, 70)
	if r.Confidence == nil || *r.Confidence != .9 {
		t.Errorf("confidence %v, want 0.9", r.Confidence)
	}
	r, err = MUFSparse(c, []Source{{1, .5}, {0, .5}}, 10)
	wantRanking(t, r, err, "abc", 82, 80, 78)
}

// TestHybrid holds the values of Pyserini's hybrid searcher.
func TestHybrid(t *testing.T) {
	for _, want := range []struct {
		name    string
		options LinearOptions
		order   string
		scores  []float64
	}{
		{"plain", LinearOptions{}, "bxac", []float64{106, 101.4, 97.6, 93.6}},
		{"normalised", LinearOptions{Normalisation: CentreRange}, "baxc", []float64{.65, -.15, -.175, -1.15}},
	} {
		t.Run(want.name, func(t *testing.T) {
			c := table(t, letters(t, "abc", 82, 80, 78), letters(t, "bxa", 20, 18, 12))
			want.options.Missing = Min
			r, err := Hybrid(c, []Source{{0, .7}}, 1, 1.3, want.options, 10)
			wantRanking(t, r, err, want.order, want.scores...)
		})
	}
}

// TestHybridOfExperts compares with what was worked out by hand: the fused dense
// list of TestMUF, b 78 a 77.2 d 76.6 c 74.8, and BM25. x, which no expert found,
// gets the lowest of it, c's 74.8.
func TestHybridOfExperts(t *testing.T) {
	c := table(t, letters(t, "abc", 82, 80, 78), letters(t, "bda", 75, 74.5, 70), letters(t, "xba", 20, 10, 5))
	experts := []Source{{0, .9}, {1, .6}}
	r, err := Hybrid(c, experts, 2, .5, LinearOptions{Missing: Min}, 10)
	wantRanking(t, r, err, "xbadc", 74.8+10, 78+5, 77.2+2.5, 76.6+2.5, 74.8+2.5)
	x := r.Items[0]
	if x.Parts[0].Origin != FromMin || x.Parts[0].Score != 78 || x.Parts[1].Origin != FromMin || x.Parts[1].Score != 70 {
		t.Errorf("x by the experts: %+v, want c's scores as the lowest", x.Parts[:2])
	}

	// Normalised over the fused list: middle 76.4, range 3.2; BM25's 12.5, 15.
	r, err = Hybrid(c, experts, 2, 1, LinearOptions{Missing: Min, Normalisation: CentreRange}, 10)
	wantRanking(t, r, err, "bxadc", .5-1./6, -.5+.5, .25-.5, .0625-.5, -.5-.5)

	// With true scores: x is 50 and 40 to the experts, so 46; c and d are 0 to
	// BM25.
	for source, scores := range [][]float32{{71, 50}, {60, 40}, {0, 0}} {
		if err := c.Complete(source, scores); err != nil {
			t.Fatal(err)
		}
	}
	r, err = Hybrid(c, experts, 2, .5, LinearOptions{}, 10)
	wantRanking(t, r, err, "badcx", 78+5, 77.2+2.5, .6*71+.4*74.5, .6*78+.4*60, .6*50+.4*40+10)
}

// TestHybridOfEqualSums: experts whose weighted sums are equal but for rounding
// have no range to be measured by: ⅔·1 + ⅓·7 = ⅔·2 + ⅓·5 = 3.
func TestHybridOfEqualSums(t *testing.T) {
	c := table(t, letters(t, "ba", 2, 1), letters(t, "ab", 7, 5), letters(t, "ab", 9, 1))
	for kind, dense := range map[Normalisation]float64{MinMax: 1, CentreRange: 0, ZScore: 0} {
		r, err := Hybrid(c, []Source{{0, .8}, {1, .4}}, 2, 1, LinearOptions{Normalisation: kind}, 10)
		if err != nil {
			t.Fatal(err)
		}
		checkRanking(t, r)
		for _, item := range r.Items {
			if got := item.Parts[0].Contribution + item.Parts[1].Contribution; math.Abs(got-dense) > 1e-12 {
				t.Errorf("%s: passage %d has %v by the experts, want %v", kind, item.Ordinal, got, dense)
			}
		}
	}
}

// TestHybridLowestIsTheFusedListsLowest compares with what was worked out by hand:
// fused, a is 7 and b is 6, so that is what x gets, as if the fused list had been
// fed to the hybrid; and not 1, which is the lowest of either expert. The parts are
// b's.
func TestHybridLowestIsTheFusedListsLowest(t *testing.T) {
	c := table(t, letters(t, "ab", 13, 1), letters(t, "ba", 11, 1), letters(t, "x", 2))
	r, err := Hybrid(c, []Source{{0, .5}, {1, .5}}, 2, 1, LinearOptions{Missing: Min}, 10)
	wantRanking(t, r, err, "abx", 9, 8, 8)
	if parts := r.Items[2].Parts; parts[0].Score != 1 || parts[1].Score != 11 || parts[0].Origin != FromMin ||
		parts[1].Origin != FromMin {
		t.Errorf("x by the experts: %+v, want b's scores as the lowest", parts)
	}
}

// TestMinMaxSum holds Pyserini's fixture of its fusion with normalisation:
// missing scores add nothing, a constant list is 1 throughout.
func TestMinMaxSum(t *testing.T) {
	o := LinearOptions{Normalisation: MinMax, Missing: None}
	both := []Source{{0, 1}, {1, 1}}
	r, err := Sum(table(t, letters(t, "ab", 24, 13), letters(t, "ab", 2.4, 1.3)), both, o, 10)
	wantRanking(t, r, err, "ab", 2, 0)
	r, err = Sum(table(t, letters(t, "c", 99), nil), both, o, 10)
	wantRanking(t, r, err, "c", 1)
	r, err = Sum(table(t, nil, letters(t, "c", 3.3)), both, o, 10)
	wantRanking(t, r, err, "c", 1)
}

// TestZScore compares with what was worked out by hand: 3 1 has mean 2 and
// deviation 1, 8 2 2 mean 4 and deviation √8.
func TestZScore(t *testing.T) {
	c := table(t, letters(t, "ab", 3, 1), letters(t, "bac", 8, 2, 2))
	r, err := Sum(c, []Source{{0, 1}, {1, .5}}, LinearOptions{Normalisation: ZScore, Missing: Min}, 10)
	eight := math.Sqrt(8)
	wantRanking(t, r, err, "abc", 1-1/eight, -1+2/eight, -1-1/eight)
}

// TestRRF compares with what was worked out by hand.
func TestRRF(t *testing.T) {
	c := table(t, letters(t, "abc", 82, 80, 78), letters(t, "bda", 75, 74.5, 70))
	r, err := RRF(c, []Source{{0, 1}, {1, 1}}, 10)
	wantRanking(t, r, err, "badc", 1./62+1./61, 1./61+1./63, 1./62, 1./63)
	r, err = RRF(c, []Source{{0, 0}, {1, 2}}, 10)
	wantRanking(t, r, err, "bdac", 2./61, 2./62, 2./63, 0)
	if got := r.Items[1].Parts[0]; got.Origin != FromNone || got.Rank != 0 {
		t.Errorf("d by the first source: %+v, want none", got)
	}
}

// TestWeights compares with what was worked out by hand; where all confidences are
// zero the authors' code divides by zero.
func TestWeights(t *testing.T) {
	for _, want := range []struct{ confidences, weights []float64 }{
		{[]float64{.9, .6}, []float64{.6, .4}},
		{[]float64{0, 0, 0, 0}, []float64{.25, .25, .25, .25}},
		{[]float64{0, .3}, []float64{0, 1}},
		{nil, nil},
	} {
		for i, got := range weightsOf(want.confidences) {
			if math.Abs(got-want.weights[i]) > 1e-15 {
				t.Errorf("weights of %v: %v at %d, want %v", want.confidences, got, i, want.weights[i])
			}
		}
	}
	c := table(t, letters(t, "abc", 82, 80, 78), letters(t, "bda", 75, 74.5, 70))
	r, err := MUF(c, []Source{{0, 0}, {1, 0}}, LinearOptions{Missing: Min}, 10)
	wantRanking(t, r, err, "bdac", 77.5, 76.25, 76, 74)
}
