package ablation

import (
	"context"
	"slices"

	"conclave/calibration"
	"conclave/fusion"
)

// fixedWeights are those that Fixed tries for BM25 beside the mean of the
// experts' scores: 0, and from 0.005 to 0.5 in steps of a fifth.
func fixedWeights() []float64 {
	all := []float64{0}
	for w := .005; w < .5; w *= 1.2 {
		all = append(all, w)
	}
	return all
}

// fixed answers by the mean of the experts' scores plus BM25's with the weight
// that is best for these very questions, by the sum of top-1 and top-20; and
// returns that weight. Without BM25 it is 0. Phrases, where they are among the
// sources, have calibration.UsualPhrases of that weight.
func (e *evidence) fixed(ctx context.Context) (weight float64, answers []calibration.Answered, err error) {
	weights := fixedWeights()
	if !e.hasWords() {
		weights = weights[:1]
	}
	ranks := make([][]int, len(e.Questions))
	err = e.each(func(i int) error {
		ranks[i] = fixedRanks(&e.Questions[i], weights)
		return ctx.Err()
	})
	if err != nil {
		return 0, nil, err
	}
	best := -1.0
	for n, w := range weights {
		tried := make([]calibration.Answered, len(e.Questions))
		for i := range tried {
			tried[i].First = ranks[i][n]
		}
		if q := calibration.Accuracy(tried, 1) + calibration.Accuracy(tried, 20); q > best {
			best, weight, answers = q, w, tried
		}
	}
	return weight, answers, nil
}

// hasWords reports whether BM25 is among the sources.
func (e *evidence) hasWords() bool {
	return len(e.Questions) > 0 && slices.ContainsFunc(e.Questions[0].Sources, func(s fusion.Observed) bool { return s.Kind == fusion.Lexical })
}

// fixedRanks are, for each weight of words, the rank of the first passage that
// answers, by counting those that are above it; 0 beyond
// calibration.AnsweredDepth.
func fixedRanks(q *calibration.Question, weights []float64) []int {
	dense := 0.0
	for _, s := range q.Sources {
		if s.Kind.Dense() {
			dense++
		}
	}
	shares := make([]float64, q.Table.Sources()) // of the experts' mean
	words := make([]float64, q.Table.Sources())  // of what the weight is for
	for _, s := range q.Sources {
		switch s.Kind {
		case fusion.Lexical:
			words[s.Column] = 1
		case fusion.Phrases:
			words[s.Column] = calibration.UsualPhrases
		case fusion.Late: // what nobody has beside a fixed weight
		default:
			shares[s.Column] = 1 / dense
		}
	}
	type parts struct{ mean, words float64 }
	all := make([]parts, 0, q.Table.Len())
	var answers []int
	q.Table.Each(fusion.Exact, func(row int, by []float64) {
		var p parts
		for i, s := range by {
			p.mean += shares[i] * s
			p.words += words[i] * s
		}
		all = append(all, p)
		if q.Relevant[q.Table.Ordinal(row)] > 0 {
			answers = append(answers, row)
		}
	})
	ranks := make([]int, len(weights))
	if len(answers) == 0 {
		return ranks
	}
	scores := make([]float64, len(all))
	for n, w := range weights {
		for row, p := range all {
			scores[row] = p.mean + w*p.words
		}
		at := answers[0]
		for _, row := range answers {
			if scores[row] > scores[at] {
				at = row
			}
		}
		first := 1
		for row, s := range scores {
			if s > scores[at] || s == scores[at] && row < at { // rows are in the order of ordinals, which breaks ties
				first++
			}
		}
		if first <= calibration.AnsweredDepth {
			ranks[n] = first
		}
	}
	return ranks
}

// rrf answers by reciprocal ranks.
func (e *evidence) rrf() ([]calibration.Answered, error) {
	return calibration.By(e.Questions, func(q *calibration.Question) (fusion.Ranking, error) {
		var all []fusion.Source
		for _, s := range q.Sources {
			all = append(all, fusion.Source{Column: s.Column, Weight: 1})
		}
		return fusion.RRF(q.Table, all, calibration.AnsweredDepth)
	})
}
