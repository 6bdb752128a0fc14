package calibration

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"example.org/conclave/internal/rank"
)

// scoredFor returns answers to n questions of two domains, of eight passages each, of which one
// answers; the gate's scores know little of which.
func scoredFor(n int, scale float32, random *rand.Rand) (answers []RankedQuestion) {
	for i := range n {
		q := &Question{ID: fmt.Sprint("q", i), Domain: fmt.Sprint("d", i%2), Relevant: map[rank.Ordinal]float64{}}
		a := RankedQuestion{ID: q.ID, Asked: q}
		right := random.IntN(8)
		for p := range 8 {
			ordinal := rank.Ordinal(8*i + p)
			score := float32(random.NormFloat64())
			if p == right {
				q.Relevant[ordinal] = 1
				score++
			}
			a.Passages = append(a.Passages, rank.Hit{Ordinal: ordinal, Score: scale * score})
		}
		slices.SortFunc(a.Passages, func(a, b rank.Hit) int { return int(math.Copysign(1, float64(b.Score-a.Score))) })
		answers = append(answers, a)
	}
	return answers
}

// judgeBy returns a reranker whose logits are knows for what answers, and noise.
func judgeBy(knows float64) RerankingOptions {
	return RerankingOptions{
		Reranker: "abc", Name: "judge", Progress: func(int, int) {},
		Score: func(_ context.Context, q *Question, passages []rank.Ordinal) (said []float64, err error) {
			for _, p := range passages {
				noise := rand.New(rand.NewPCG(uint64(p), 3)).NormFloat64()
				said = append(said, 5*(noise+knows*q.Relevant[p]))
			}
			return said, nil
		},
	}
}

// TestFitRerankingFindsWhatTells: a reranker that knows puts what answers first, more often than
// either alone; the weight goes with the scale of the gate's scores; one that knows nothing has no
// part.
func TestFitRerankingFindsWhatTells(t *testing.T) {
	const seed = 11
	fit := func(knows float64, scale float32) *RerankingFit {
		t.Helper()
		answers := scoredFor(150, scale, rand.New(rand.NewPCG(seed, 0)))
		f, err := FitReranking(t.Context(), answers, make([]float64, len(answers)), judgeBy(knows))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Check(); err != nil {
			t.Error(err)
		}
		first := 0.0
		for _, a := range answers {
			if a.Asked.Relevant[a.Passages[0].Ordinal] > 0 {
				first++
			}
		}
		if math.Abs(f.WithoutTop1-first/150) > 1e-9 || f.Questions != 150 {
			t.Errorf("without: %+v, by hand %g", f, first/150)
		}
		return f
	}
	good := fit(2, 1)
	// Both are normal of deviation 1 and 5, and what answers is 1 and 10 higher: the best weight
	// of a sum is (10/25)/(1/1).
	if good.Weight < .15 || good.Weight > 1 || good.MRR < good.WithoutMRR+.1 || good.Top1 < good.WithoutTop1+.1 {
		t.Errorf("seed %d: %+v", seed, good)
	}
	if wide := fit(2, 3); math.Abs(wide.Weight/good.Weight-3) > 1e-6 || wide.Top1 != good.Top1 {
		t.Errorf("seed %d: three times the scores: %+v, %+v", seed, wide, good)
	}
	if none := fit(-1, 1); none.Weight != 0 || none.Top1 != none.WithoutTop1 {
		t.Errorf("seed %d: a reranker that misleads: %+v", seed, none)
	}
}

// TestRerankedConfidenceIsOfTheFirst: a reranker that knows gives a chance that tells right from wrong, of the passage
// that is the first with it: over questions with an answer, the same without what answers, and others.
func TestRerankedConfidenceIsOfTheFirst(t *testing.T) {
	const seed, n = 11, 150
	answers := scoredFor(n, 1, rand.New(rand.NewPCG(seed, 0)))
	for i := range n {
		out := answers[i]
		out.Without = TakenOut
		out.Passages = slices.DeleteFunc(slices.Clone(out.Passages), func(h rank.Hit) bool {
			return out.Asked.Relevant[h.Ordinal] > 0
		})
		answers = append(answers, out)
	}
	answers = append(answers, RankedQuestion{ID: "nothing", Asked: &Question{ID: "nothing"}, Without: Unanswerable})
	for i := range answers {
		for p, h := range answers[i].Passages {
			if answers[i].First == 0 && answers[i].Asked.Relevant[h.Ordinal] > 0 {
				answers[i].First = p + 1
			}
		}
	}
	confidences := slices.Repeat([]float64{.5}, len(answers))
	scored := 0
	var mu sync.Mutex
	o := judgeBy(3)
	score := o.Score
	o.Score = func(ctx context.Context, q *Question, passages []rank.Ordinal) ([]float64, error) {
		mu.Lock()
		scored += len(passages)
		mu.Unlock()
		return score(ctx, q, passages)
	}
	f, err := FitReranking(t.Context(), answers, confidences, o)
	if err != nil || f.First == nil || f.Questions != n || scored != 8*n {
		t.Fatalf("seed %d: %+v, %v, %d passages were scored", seed, f, err, scored)
	}
	// What it says of a passage that answers is 15 higher, with a deviation of 5.
	if f.WithoutAUROC != .5 || f.First.AUROC < .8 || f.First.ECE > .1 || !f.Surer() || f.Check() != nil {
		t.Errorf("seed %d: %+v, without %v, %v", seed, *f.First, f.WithoutECE, f.WithoutAUROC)
	}
	high, err1 := f.First.Chance.Of([]float64{0, 18, 12, 1})
	low, err2 := f.First.Chance.Of([]float64{0, 3, 1, 0})
	if err := errors.Join(err1, err2); err != nil || high < .8 || low > .4 {
		t.Errorf("seed %d: %v and %v, %v", seed, high, low, err)
	}
}

// TestRerankingFitRefused: what cannot be served.
func TestRerankingFitRefused(t *testing.T) {
	for _, f := range []RerankingFit{{}, {Reranker: "a", Weight: -1}, {Reranker: "a", Weight: math.NaN()}} {
		if f.Check() == nil {
			t.Errorf("%+v is taken", f)
		}
	}
	r := Record{Reranking: []RerankingFit{{Reranker: "a", Weight: 1}, {Reranker: "b", Weight: 2}}}
	if f := r.RerankingOf("b"); f == nil || f.Weight != 2 || r.RerankingOf("c") != nil {
		t.Errorf("%+v", f)
	}
}
