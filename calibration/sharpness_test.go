package calibration

import (
	"fmt"
	"math"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
)

// unsure returns a question of two experts with confidences of 0.8 and 0.4: by the power s their
// weights are as 2^s and 1. The first expert is ahead by 1 for passage 0, the other by lead
// for passage 1, so that passage 0 is first where 2^s > lead.
func unsure(t *testing.T, id string, lead float32, answer rank.Ordinal) Question {
	t.Helper()
	q := Question{ID: id, Table: new(fusion.Candidates), Relevant: map[rank.Ordinal]float64{answer: 1},
		Sources: []fusion.Observed{
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
	for _, grid := range [][]float64{sharpnesses(), {1, 2, 8}} { // only golden section reaches there from the second
		got, _, err := fitSharpness(t.Context(), questions, grid)
		if err != nil || !(got > math.Log2(5) && got < 4) {
			t.Errorf("sharpness %v (%v), want it between 2.32 and 4", got, err)
		}
	}
	questions[0].ensembles = questions[0].ensembles[:1]
	if got, heldOut, err := fitSharpness(t.Context(), questions, sharpnesses()); err != nil || got != 0 ||
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
