package calibration

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
)

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
		Sources: []fusion.Observed{{Column: 0, Kind: fusion.Generalist, Confidence: -1}, {Column: 1, Kind: fusion.Lexical}}}
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
		t.Context(),
		questions,
		make([]float64, len(questions)),
		[]float64{0, .1, .3, .45, .5, .55, .7, .8},
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
		q.Sources = append(q.Sources, fusion.Observed{Column: 2, Kind: fusion.Base, Confidence: -1})
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
