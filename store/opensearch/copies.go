package opensearch

import (
	"context"
	"encoding/json"
	"fmt"

	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// exactlyCounted is the number of different texts up to which the cluster counts exactly; beyond, its count is within
// some .2 % (HyperLogLog++).
const exactlyCounted = 40_000

// Copies returns how many passages have the title and the text of another one. Of an index with more than
// exactlyCounted passages it is an estimate, and 0 below one in a hundred. It fails if the cluster does not answer
// for all shards within cluster.Opening.
func (s *Store) Copies(ctx context.Context) (int64, error) {
	body, err := json.Marshal(
		object{"size": 0, "track_total_hits": true, "query": object{"exists": object{"field": schema.FieldPrint}},
			"aggs": object{"texts": object{"cardinality": object{
				"field": schema.FieldPrint, "precision_threshold": exactlyCounted,
			}}}},
	)
	if err != nil {
		return 0, err
	}
	answer, err := s.sendRepeatedFor(ctx, cluster.Opening, "POST", s.path("/_search"), body, cluster.CheckSearched)
	if err != nil {
		return 0, err
	}
	var found struct {
		Hits struct {
			Total struct {
				Value int64 `json:"value"`
			} `json:"total"`
		} `json:"hits"`
		Aggregations struct {
			Texts *struct {
				Value int64 `json:"value"`
			} `json:"texts"`
		} `json:"aggregations"`
	}
	if err := json.Unmarshal(answer, &found); err != nil || found.Aggregations.Texts == nil {
		return 0, fmt.Errorf("%w: no count of texts: %w", cluster.ErrAnswer, err)
	}
	all := found.Hits.Total.Value
	copies := max(0, all-found.Aggregations.Texts.Value)
	if all > exactlyCounted && copies < all/100 {
		return 0, nil
	}
	return copies, nil
}
