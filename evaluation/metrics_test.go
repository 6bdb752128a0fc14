package evaluation

import (
	"math"
	"testing"

	"example.org/conclave/internal/questions"
)

// TestMetricsByHand checks sums worked out on paper.
func TestMetricsByHand(t *testing.T) {
	ranking := []string{"a", "b", "c", "d", "e"}
	j := questions.Judgements{"b": 2, "d": 1, "x": 3, "a": 0, "c": -1}
	log2 := math.Log2
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"nDCG@10", ndcg(ranking, j, 10), (2/log2(3) + 1/log2(5)) / (3/log2(2) + 2/log2(3) + 1/log2(4))},
		{"nDCG@3", ndcg(ranking, j, 3), (2 / log2(3)) / (3 + 2/log2(3) + 0.5)},
		{"MAP", averagePrecision(ranking, j), (1.0/2 + 2.0/4) / 3},
		{"recall@2", recallAt(ranking, j, 2), 1.0 / 3},
		{"recall@100", recallAt(ranking, j, 100), 2.0 / 3},
		{"nDCG without relevant passages", ndcg(ranking, nil, 10), 0},
		{"MAP without relevant passages", averagePrecision(ranking, nil), 0},
		{"MAP of an empty ranking", averagePrecision(nil, j), 0},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
}
