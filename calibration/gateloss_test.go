package calibration

import (
	"math"
	"math/rand/v2"
	"testing"
)

func listwise(scores []float64, answers []int, slopes []float64) float64 {
	r := rankedBy(scores, answers, make([]float64, len(scores)))
	return r.listwise(slopes)
}

func lateness(scores []float64, answers []int, slopes []float64) float64 {
	r := rankedBy(scores, answers, make([]float64, len(scores)))
	return r.lateness(slopes)
}

// TestFarBehind: an answer so far behind that its odds leave the range of numbers
// costs how far it is behind, and pulls as any other.
func TestFarBehind(t *testing.T) {
	slopes := make([]float64, 3)
	for _, behind := range []float64{39, 41, 5000} {
		got := listwise([]float64{0, behind, behind}, []int{0}, slopes)
		if want := behind + math.Ln2; math.Abs(got-want) > 1e-9 {
			t.Errorf("%v behind: listwise %v, want %v", behind, got, want)
		}
		for i, want := range []float64{-1, .5, .5} {
			if math.Abs(slopes[i]-want) > 1e-9 {
				t.Errorf("%v behind: slope %d is %v, want %v", behind, i, slopes[i], want)
			}
		}
	}
}

// TestRankLosses compares with sums by hand.
func TestRankLosses(t *testing.T) {
	slopes := make([]float64, 3)
	// Softmax of (ln 2, 0, ln 1): 2/4, 1/4, 1/4; the first and last answer.
	if got, want := listwise([]float64{math.Ln2, 0, 0}, []int{0, 2}, slopes), -math.Log(3./4); math.Abs(got-want) > 1e-12 {
		t.Errorf("listwise %v, want %v", got, want)
	}
	for i, want := range []float64{2./4 - 2./3, 1. / 4, 1./4 - 1./3} {
		if math.Abs(slopes[i]-want) > 1e-12 {
			t.Errorf("slope %d of listwise is %v, want %v", i, slopes[i], want)
		}
	}
	// One that does not answer is level with the best answer: half a rank late.
	// The other is ahead by ln 3: three quarters.
	clear(slopes)
	got := lateness([]float64{1, 1, 1 + math.Log(3)}, []int{0}, slopes)
	want := math.Log1p((1 + .5 + .75) / 20)
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("lateness %v, want %v", got, want)
	}
	by := 1 / (20 + 2.25)
	for i, want := range []float64{-by * (.25 + .1875), by * .25, by * .1875} {
		if math.Abs(slopes[i]-want) > 1e-12 {
			t.Errorf("slope %d of lateness is %v, want %v", i, slopes[i], want)
		}
	}
}

// TestLatenessCountsRanks: of scores far from each other it is the logarithm of
// 1 and a twentieth of the rank, by counting.
func TestLatenessCountsRanks(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	for range 200 {
		scores := make([]float64, 1+random.IntN(60))
		for place, at := range random.Perm(len(scores)) {
			scores[at] = float64(-100 * place)
		}
		var answers []int
		first := len(scores)
		for i := range scores {
			if random.IntN(10) == 0 || i == len(scores)-1 && answers == nil {
				answers = append(answers, i)
				first = min(first, int(-scores[i]/100)+1)
			}
		}
		// Other answers are passed over.
		slopes := make([]float64, len(scores))
		if got, want := lateness(scores, answers, slopes), math.Log1p(float64(first)/20); math.Abs(got-want) > 1e-9 {
			t.Fatalf("answers %v of %v: %v, want rank %d: %v", answers, scores, got, first, want)
		}
	}
}
