package evaluation

import (
	"context"

	"example.org/conclave/calibration"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/learned"
)

// RerankEngine lets rerankers score stored passages.
type RerankEngine interface {
	Judgements(ctx context.Context, reranker, question string, ids []string) ([]float64, error)
	Rerankers() []learned.RerankerInfo
}

// Reranking returns the options for fitting each configured reranker of the engine; nil if it has none. Rerankers that
// nobody configured (RerankerInfo.Usual) are left out.
func Reranking(
	engine RerankEngine,
	passages PassageIDs,
	progress func(done, total int),
) (all []calibration.RerankingOptions) {
	for _, r := range engine.Rerankers() {
		if r.Usual {
			continue
		}
		score := func(ctx context.Context, q *calibration.Question, ordinals []rank.Ordinal) ([]float64, error) {
			ids, err := passages.IDs(ctx, ordinals)
			if err != nil {
				return nil, err
			}
			return engine.Judgements(ctx, r.Name, q.Text, ids)
		}
		all = append(all, calibration.RerankingOptions{
			Reranker: r.Fingerprint, Name: r.Name, Score: score, Progress: progress,
		})
	}
	return all
}
