package calibration

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
)

func TestMinimiseFindsBetweenTheGrid(t *testing.T) {
	for _, target := range []float64{.37, 2.2, 40} {
		calls := 0
		x, err := goldenSection(t.Context(), logarithmicGrid(-2, 2, 4), func(x float64) (float64, error) {
			calls++
			return math.Abs(math.Log(x / target)), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// The bracket spans half a decade; 12 steps leave half a percent of it.
		if math.Abs(x/target-1) > .02 || calls != 17+goldenSteps {
			t.Errorf("minimum at %v after %d calls, want %v after %d", x, calls, target, 17+goldenSteps)
		}
	}
}

// TestMinimiseKeepsTheBest: golden section walks into a worse hollow beside a
// spike that only the grid hits.
func TestMinimiseKeepsTheBest(t *testing.T) {
	spike := func(x float64) (float64, error) {
		if x == 2 {
			return -1, nil
		}
		return math.Abs(x - 2.7), nil
	}
	grid := []float64{0, 1, 2, 3, 4}
	if x, err := goldenSection(t.Context(), grid, spike); err != nil || x != 2 {
		t.Errorf("minimum at %v (%v), want 2", x, err)
	}
	// And a hollow that only golden section hits is taken.
	if x, err := goldenSection(t.Context(), grid, func(x float64) (float64, error) {
		return math.Abs(x - 2.4),
			nil
	}); err != nil ||
		math.Abs(x-2.4) > .02 {
		t.Errorf("minimum at %v (%v), want 2.4", x, err)
	}
}

func TestMinimisePlateauAndEdges(t *testing.T) {
	grid := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}
	level := func(is func(x float64) bool) func(x float64) float64 {
		return func(x float64) float64 {
			if is(x) {
				return 0
			}
			return 1
		}
	}
	for name, c := range map[string]struct {
		f func(x float64) float64
		x float64
	}{
		"the longest run":     {level(func(x float64) bool { return x == 0 || x >= 4 && x <= 6 }), 5},
		"of four, the second": {level(func(x float64) bool { return x >= 2 && x <= 5 }), 3},
		"a constant":          {func(float64) float64 { return 3 }, 4},
		"falling":             {func(x float64) float64 { return -x }, 8},
		"rising":              {func(x float64) float64 { return x }, 0},
	} {
		loss := func(x float64) (float64, error) { return c.f(x), nil }
		if x, err := goldenSection(t.Context(), grid, loss); err != nil ||
			x != c.x {
			t.Errorf("%s: %v (%v); want %v", name, x, err, c.x)
		}
	}
	same := func(x float64) (float64, error) { return x, nil }
	if x, err := goldenSection(t.Context(), []float64{3}, same); err != nil ||
		x != 3 {
		t.Errorf("a grid of one: %v (%v)", x, err)
	}
	broken := errors.New("broken")
	for failing := range 3 + goldenSteps {
		calls := 0
		_, err := goldenSection(t.Context(), []float64{1, 2, 3}, func(x float64) (float64, error) {
			if calls++; calls > failing {
				return 0, broken
			}
			return x, nil
		})
		if !errors.Is(err, broken) || calls > failing+1 {
			t.Errorf("a failure after %d calls: %v, %d calls", failing, err, calls)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := goldenSection(cancelled, grid, func(x float64) (float64, error) { return x, nil }); !errors.Is(
		err, context.Canceled,
	) {
		t.Errorf("cancelled: %v", err)
	}
}

// expertAndWords returns a question for which an expert and BM25 found the same passages,
// 0, 1, 2, ..., with these scores.
func expertAndWords(t *testing.T, id string, dense, lexical []float32, answer rank.Ordinal) Question {
	t.Helper()
	lists := make([][]rank.Hit, 2)
	for source, scores := range [][]float32{dense, lexical} {
		for ordinal, score := range scores {
			lists[source] = append(lists[source], rank.Hit{Ordinal: rank.Ordinal(ordinal), Score: score})
		}
		rank.Sort(lists[source])
	}
	q := Question{ID: id, Table: new(fusion.Candidates), Relevant: map[rank.Ordinal]float64{answer: 1},
		Sources: []fusion.ObservedSource{
			{Column: 0, Kind: fusion.Generalist, Confidence: -1}, {Column: 1, Kind: fusion.Lexical},
		}}
	if err := q.Table.Reset(lists); err != nil {
		t.Fatal(err)
	}
	return q
}

// wins returns a question that is right exactly where α is above the threshold
// (below it, with the answers swapped).
func wins(t *testing.T, id string, threshold float32, above bool) Question {
	t.Helper()
	answer := rank.Ordinal(0)
	if above {
		answer = 1
	}
	// Passage 0 has threshold + 0·α, passage 1 has 0 + 1·α.
	return expertAndWords(t, id, []float32{threshold, 0}, []float32{0, 1}, answer)
}

// TestAlphaByHand: a wants α above 0.2, b above 0.4, c below 0.6, so all are
// right between 0.4 and 0.6; d cannot be helped.
func TestAlphaByHand(t *testing.T) {
	questions := []Question{wins(t, "a", .2, true), wins(t, "b", .4, true), wins(t, "c", .6, false),
		expertAndWords(t, "d", []float32{2, 1, 1}, []float32{2, 1, 1}, 2)}
	alpha, _, err := fitAlpha(
		t.Context(), questions, make([]float64, len(questions)), []float64{0, .1, .3, .45, .5, .55, .7, .8},
	)
	if err != nil || alpha != .5 {
		t.Errorf("α is %v (%v), want the middle of the plateau, 0.5", alpha, err)
	}
	// Only golden section reaches between 0.4 and 0.6 here.
	alpha, _, err = fitAlpha(t.Context(), questions, make([]float64, len(questions)), []float64{0, .35, .9})
	if err != nil || !(alpha > .4 && alpha < .6) {
		t.Errorf("α is %v (%v), want it between 0.4 and 0.6", alpha, err)
	}
}

// TestAlphaOfServedExperts: an expert that cannot say how sure it is is left out of the
// hybrid beside one that can, and so of the fit: α is what it is without that expert.
func TestAlphaOfServedExperts(t *testing.T) {
	var alone, beside []Question
	for i, threshold := range []float32{.2, .4, .6} {
		id := fmt.Sprint(i)
		above := threshold < .5
		alone = append(alone, wins(t, id, threshold, above))
		q := wins(t, id, threshold, above)
		// The base is of the other opinion, and loudly so.
		hits := func(first, second float32) []rank.Hit {
			out := []rank.Hit{{Ordinal: 0, Score: first}, {Ordinal: 1, Score: second}}
			rank.Sort(out)
			return out
		}
		if err := q.Table.Reset([][]rank.Hit{hits(threshold, 0), hits(0, 1), hits(30, 10)}); err != nil {
			t.Fatal(err)
		}
		q.Sources[0].Confidence = .5
		q.Sources = append(q.Sources, fusion.ObservedSource{Column: 2, Kind: fusion.Base, Confidence: -1})
		q.ensembles = []ensembleAnswer{{members: 2}}
		beside = append(beside, q)
	}
	grid := []float64{0, .1, .3, .45, .5, .55, .7, .8}
	want, _, err := fitAlpha(t.Context(), alone, make([]float64, len(alone)), grid)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := fitAlpha(t.Context(), beside, make([]float64, len(beside)), grid); err != nil || got != want {
		t.Errorf("α is %v (%v) beside an expert without an ensemble, want %v", got, err, want)
	}
}

// TestAlphaHeldOut compares with a fit of its own on the other folds.
func TestAlphaHeldOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	var questions []Question
	for i := range 60 {
		questions = append(questions, wins(t, fmt.Sprint("q", i), float32(.3+.4*rng.Float64()), rng.IntN(2) == 1))
	}
	grid := []float64{0, .2, .35, .45, .5, .55, .6, .65, .8}
	_, heldOut, err := fitAlpha(t.Context(), questions, make([]float64, len(questions)), grid)
	if err != nil {
		t.Fatal(err)
	}
	alphas := map[float64]bool{}
	for i, q := range questions {
		var others []Question
		for _, other := range questions {
			if foldOf(other.ID) != foldOf(q.ID) {
				others = append(others, other)
			}
		}
		alone, _, err := fitAlpha(t.Context(), others, make([]float64, len(others)), grid)
		if err != nil {
			t.Fatal(err)
		}
		alphas[alone] = true
		near(t, "held-out α of "+q.ID, heldOut[i], alone, 0)
	}
	if len(alphas) < 2 {
		t.Errorf("every fold has the α %v: the test proves nothing", alphas)
	}
}

// unsure returns a question of two experts with confidences of 0.8 and 0.4: by the power s their
// weights are as 2^s and 1. The first expert is ahead by 1 for passage 0, the other by lead
// for passage 1, so that passage 0 is first where 2^s > lead.
func unsure(t *testing.T, id string, lead float32, answer rank.Ordinal) Question {
	t.Helper()
	q := Question{ID: id, Table: new(fusion.Candidates), Relevant: map[rank.Ordinal]float64{answer: 1},
		Sources: []fusion.ObservedSource{
			{Column: 0, Kind: fusion.Specialist, Confidence: .8},
			{Column: 1, Kind: fusion.Specialist, Confidence: .4},
		},
		ensembles: []ensembleAnswer{{members: 2}, {members: 2}}}
	if err := q.Table.Reset([][]rank.Hit{{{Ordinal: 0, Score: 1}, {Ordinal: 1}},
		{{Ordinal: 1, Score: lead}, {Ordinal: 0}}}); err != nil {
		t.Fatal(err)
	}
	return q
}

// TestSharpnessByHand: two questions want a power above 1 and above log2(5) = 2.32, one
// below 4, so all are right between 2.32 and 4.
func TestSharpnessByHand(t *testing.T) {
	questions := []Question{unsure(t, "a", 2, 0), unsure(t, "b", 5, 0), unsure(t, "c", 16, 1)}
	for _, grid := range [][]float64{sharpnessGrid(), {1, 2, 8}} { // only golden section reaches there from the second
		got, _, err := fitSharpness(t.Context(), questions, grid)
		if err != nil || !(got > math.Log2(5) && got < 4) {
			t.Errorf("sharpness %v (%v), want it between 2.32 and 4", got, err)
		}
	}
	questions[0].ensembles = questions[0].ensembles[:1]
	if got, heldOut, err := fitSharpness(t.Context(), questions, sharpnessGrid()); err != nil || got != 0 ||
		len(heldOut) != len(questions) {
		t.Errorf("with one ensemble: %v, %v, %v", got, heldOut, err)
	}
}

// TestSharpnessHeldOut compares with a fit of its own on the other folds.
func TestSharpnessHeldOut(t *testing.T) {
	var questions []Question
	for i := range 40 {
		questions = append(
			questions,
			unsure(t, fmt.Sprint("q", i), float32(math.Pow(2, .3+float64(i*7%40)/8)), rank.Ordinal(i*13%5/3)),
		)
	}
	grid := []float64{.5, 1, 2, 3, 4, 5}
	_, heldOut, err := fitSharpness(t.Context(), questions, grid)
	if err != nil {
		t.Fatal(err)
	}
	fits := map[float64]bool{}
	for i, q := range questions {
		var others []Question
		for _, other := range questions {
			if foldOf(other.ID) != foldOf(q.ID) {
				others = append(others, other)
			}
		}
		alone, _, err := fitSharpness(t.Context(), others, grid)
		if err != nil {
			t.Fatal(err)
		}
		fits[alone] = true
		near(t, "held-out sharpness of "+q.ID, heldOut[i], alone, 0)
	}
	if len(fits) < 2 {
		t.Errorf("every fold has the sharpness %v: the test proves nothing", fits)
	}
}

func TestWorthOfRank(t *testing.T) {
	for first, want := range map[int]float64{0: 0, 1: 1, 3: .5, 7: 1. / 3, 10: .289065, 11: 0} {
		near(t, fmt.Sprint("rank ", first), worthOfRank(first), want, 1e-6)
	}
}
