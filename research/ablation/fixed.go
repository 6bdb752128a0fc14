package ablation

import (
	"context"
	"slices"

	"example.org/conclave/calibration"
	"example.org/conclave/fusion"
)

// fixedWeights returns the weights of BM25 that fixed tries next to the mean of the experts' scores: 0, and from 0.005
// to 0.5 in steps of a fifth.
func fixedWeights() []float64 {
	all := []float64{0}
	for w := .005; w < .5; w *= 1.2 {
		all = append(all, w)
	}
	return all
}

// answerFixed returns the answers by the mean of the experts' scores plus BM25's with the weight that is best for
// these very questions, by the sum of top-1 and top-20; and that weight, 0 without BM25. Phrases, if they are among
// the sources, have calibration.UsualPhrases of that weight. It fails if ctx ends.
func (e *evidence) answerFixed(ctx context.Context) (weight float64, answers []calibration.MethodAnswer, err error) {
	weights := fixedWeights()
	isLexical := func(s fusion.ObservedSource) bool { return s.Kind == fusion.Lexical }
	if !slices.ContainsFunc(e.Questions[0].Sources, isLexical) {
		weights = weights[:1]
	}
	best := -1.0
	for _, w := range weights {
		if err := ctx.Err(); err != nil {
			return 0, nil, err
		}
		tried, err := calibration.By(e.Questions, func(q *calibration.Question) (fusion.Ranking, error) {
			return fusion.Sum(
				q.Table, fixedSources(q.Sources, w), fusion.LinearOptions{Normalisation: fusion.Raw},
				calibration.AnsweredDepth,
			)
		})
		if err != nil {
			return 0, nil, err
		}
		if q := calibration.Accuracy(tried, 1) + calibration.Accuracy(tried, 20); q > best {
			best, weight, answers = q, w, tried
		}
	}
	return weight, answers, nil
}

// fixedSources returns the experts, which share a weight of 1, and words with the given weight. Nearness and late
// interaction are left out, since nobody uses them with a fixed weight.
func fixedSources(sources []fusion.ObservedSource, words float64) (out []fusion.Source) {
	dense := 0.0
	for _, s := range sources {
		if s.Kind.Dense() {
			dense++
		}
	}
	for _, s := range sources {
		switch s.Kind {
		case fusion.Lexical:
			out = append(out, fusion.Source{Column: s.Column, Weight: words})
		case fusion.Phrases:
			out = append(out, fusion.Source{Column: s.Column, Weight: words * calibration.UsualPhrases})
		case fusion.Near, fusion.Late:
		default:
			out = append(out, fusion.Source{Column: s.Column, Weight: 1 / dense})
		}
	}
	return out
}

// answerByRRF returns the answers to the questions by reciprocal rank fusion of all sources, with equal weights. It
// fails if a fusion does.
func (e *evidence) answerByRRF() ([]calibration.MethodAnswer, error) {
	return calibration.By(e.Questions, func(q *calibration.Question) (fusion.Ranking, error) {
		var all []fusion.Source
		for _, s := range q.Sources {
			all = append(all, fusion.Source{Column: s.Column, Weight: 1})
		}
		return fusion.RRF(q.Table, all, calibration.AnsweredDepth)
	})
}
