package ablation

import (
	"context"
	"math"
	"slices"

	"conclave/calibration"
	"conclave/fusion"
)

// FixedWeights are those that Fixed tries for BM25 beside the mean of the
// experts' scores: 0, and from 0.005 to 0.5 in steps of a fifth.
func FixedWeights() []float64 {
	all := []float64{0}
	for w := .005; w < .5; w *= 1.2 {
		all = append(all, w)
	}
	return all
}

// Fixed answers by the mean of the experts' scores plus BM25's with the weight
// that is best for these very questions, by the sum of top-1 and top-20; and
// returns that weight. Without BM25 it is 0. Phrases, where they are among the
// sources, have calibration.UsualPhrases of that weight.
func (e *Evidence) Fixed(ctx context.Context) (weight float64, answers []calibration.Answered, err error) {
	best := -1.0
	weights := FixedWeights()
	if !e.hasWords() {
		weights = weights[:1]
	}
	for _, w := range weights {
		if err := ctx.Err(); err != nil {
			return 0, nil, err
		}
		tried := make([]calibration.Answered, len(e.Questions))
		for i := range e.Questions {
			tried[i].First = fixedRank(&e.Questions[i], w)
		}
		if q := calibration.Accuracy(tried, 1) + calibration.Accuracy(tried, 20); q > best {
			best, weight, answers = q, w, tried
		}
	}
	return weight, answers, nil
}

// hasWords reports whether BM25 is among the sources.
func (e *Evidence) hasWords() bool {
	return len(e.Questions) > 0 && slices.ContainsFunc(e.Questions[0].Sources, func(s fusion.Observed) bool { return s.Kind == fusion.Lexical })
}

// fixedRank is the rank of the first passage that answers, by counting those
// that are above it; 0 beyond calibration.AnsweredDepth.
func fixedRank(q *calibration.GateQuestion, words float64) int {
	weights, dense := make([]float64, len(q.Sources)), 0.0
	for _, s := range q.Sources {
		if s.Kind.Dense() {
			dense++
		}
	}
	for _, s := range q.Sources {
		switch s.Kind {
		case fusion.Lexical:
			weights[s.Column] = words
		case fusion.Phrases:
			weights[s.Column] = calibration.UsualPhrases * words
		case fusion.Late: // what nobody has beside a fixed weight
		default:
			weights[s.Column] = 1 / dense
		}
	}
	scores := make([]float64, 0, q.Table.Len())
	at, top := -1, math.Inf(-1)
	q.Table.Each(fusion.Exact, func(row int, by []float64) {
		sum := 0.0
		for i, s := range by {
			sum += weights[i] * s
		}
		scores = append(scores, sum)
		if sum > top && q.Relevant[q.Table.Ordinal(row)] > 0 {
			at, top = row, sum
		}
	})
	if at < 0 {
		return 0
	}
	first := 1
	for row, s := range scores {
		if s > top || s == top && row < at { // rows are in the order of ordinals, which breaks ties
			first++
		}
	}
	if first > calibration.AnsweredDepth {
		return 0
	}
	return first
}

// RRF answers by reciprocal ranks.
func (e *Evidence) RRF() ([]calibration.Answered, error) {
	return calibration.By(e.Questions, func(q *calibration.GateQuestion) (fusion.Ranking, error) {
		var all []fusion.Source
		for _, s := range q.Sources {
			all = append(all, fusion.Source{Column: s.Column, Weight: 1})
		}
		return fusion.RRF(q.Table, all, calibration.AnsweredDepth)
	})
}
