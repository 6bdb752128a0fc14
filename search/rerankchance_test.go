package search

import (
	"math"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// TestRerankedConfidence: it is of the passage that is the first with the reranker, and decides whether there is an
// answer; without one that was fitted for the reranker it is estimated.
func TestRerankedConfidence(t *testing.T) {
	const weight = .07
	put := func(fitted learned.Chance, least float64, o ask.RerankOptions) reply.Response {
		t.Helper()
		s, _ := withJudge()
		s.config.Defaults.Chances = &sure{first: .4, any: .7}
		own := weight
		s.config.Rerankers[0].Weight = &own
		s.config.Rerankers[0].Confidence = fitted
		return s.ask(t, Request{
			Question: askedOften, Fusion: methodsOf(fusion.MethodGate), K: 30, MinConfidence: least, Rerank: o,
		})
	}
	before := put(nil, 0, ask.RerankOptions{})
	scores, said := make([]float64, 12), make([]float64, 12)
	for i := range scores {
		scores[i], said[i] = before.Results[i].Score, judged(before.Results[i].Text)
	}
	top := 0
	lead := math.Inf(-1)
	for i := range scores {
		if scores[i]+weight*said[i] > scores[top]+weight*said[top] {
			top = i
		}
	}
	for i := range said {
		if i != top && scores[i] >= scores[0]-5*weight { // within reach of the first
			lead = max(lead, said[i])
		}
	}
	same := 0.
	if top == 0 {
		same = 1
	}
	want := []float64{math.Log(.4 / .6), said[top], said[top] - lead, same}
	var given []float64
	got := put(chanceFunc(func(signals []float64) (float64, error) {
		given = signals
		return .9, nil
	}), .8, reranked(12))
	if *got.Confidence != .9 || *got.Any != .9 || got.Abstained || len(got.Results) != len(before.Results) ||
		got.Results[0].ID != before.Results[top].ID {
		t.Errorf("%v, %v, %d results", *got.Confidence, *got.Any, len(got.Results))
	}
	for i := range want {
		if len(given) != len(want) || math.Abs(given[i]-want[i]) > 1e-6 {
			t.Fatalf("signals %v, by hand %v", given, want)
		}
	}
	if low := put(chanceFunc(func([]float64) (float64, error) { return .1, nil }), .2, reranked(12)); !low.Abstained ||
		len(low.Results) != 0 {
		t.Errorf("a confidence of .1, at least .2 wanted: %+v", low)
	}
	if none := put(nil, 0, reranked(12)); *none.Confidence == .4 ||
		math.Abs(*none.Confidence-answering.RerankChance(scores, said, weight, .4, .7)) > 1e-3 {
		t.Errorf("not fitted: %v", *none.Confidence)
	}
}

type chanceFunc func(signals []float64) (float64, error)

func (f chanceFunc) Of(signals []float64) (float64, error) { return f(signals) }
