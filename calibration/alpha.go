package calibration

import (
	"context"
	"fmt"
	"slices"

	"conclave/fusion"
)

// fitAlpha finds the weight of BM25, in column lexical, with which the hybrid's first
// passage answers the most often; and for each question the one that is best for the
// questions of other folds. The grid has room for unit vectors (some hundredths) and
// for normalised scores (about 1).
func fitAlpha(ctx context.Context, questions []Question, lexical int, grid []float64) (alpha float64, heldOut []float64, err error) {
	t := tuning{grid: grid,
		value: func(i int, alpha float64) (float64, error) {
			r, err := hybrid(&questions[i], lexical, alpha, 1)
			return -float64(firstRelevant(r, questions[i].Relevant)), err
		},
		loss: func(_ []int, values []float64) float64 {
			sum := 0.0
			for _, v := range values {
				sum += v
			}
			return sum / float64(len(values))
		}}
	for _, q := range questions {
		t.ids = append(t.ids, q.ID)
	}
	if alpha, heldOut, err = t.fit(ctx); err != nil {
		return 0, nil, fmt.Errorf("the hybrid's weight of BM25: %w", err)
	}
	return alpha, heldOut, nil
}

// alphas is the grid that a weight of BM25 is looked for on.
func alphas() []float64 { return append([]float64{0}, logarithmic(-3, 1, 6)...) }

// hybrid answers by the experts' fused score, weighted by how sure they are where each
// of them can say, and alpha times BM25.
func hybrid(q *Question, lexical int, alpha float64, k int) (fusion.Ranking, error) {
	return fusion.Hybrid(q.Table, confidences(q.Sources), lexical, fusion.HybridOptions{Alpha: alpha}, k)
}

// confidences are the dense sources weighted by how sure they are; all the same
// where one of them cannot say.
func confidences(sources []fusion.Observed) []fusion.Source {
	dense := slices.DeleteFunc(slices.Clone(sources), func(s fusion.Observed) bool { return !s.Kind.Dense() })
	known := !slices.ContainsFunc(dense, func(s fusion.Observed) bool { return s.Confidence < 0 })
	out := make([]fusion.Source, len(dense))
	for i, s := range dense {
		out[i] = fusion.Source{Column: s.Column, Weight: 1}
		if known {
			out[i].Weight = s.Confidence
		}
	}
	return out
}
