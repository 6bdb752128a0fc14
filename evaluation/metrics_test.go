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

// TestAskedMetric compares measures at a depth with sums worked out on paper, by the rules of trec_eval's ndcg_cut and
// map_cut: precision at the ranks of the relevant passages so deep, over all that are relevant.
func TestAskedMetric(t *testing.T) {
	ranking := []string{"a", "b", "c", "d", "e"}
	j := questions.Judgements{"b": 2, "d": 1, "x": 3, "a": 0, "c": -1}
	log2 := math.Log2
	for name, want := range map[string]float64{
		"nDCG@3": (2 / log2(3)) / (3 + 2/log2(3) + 0.5), "ndcg@1": 0, "MAP@2": (1. / 2) / 3, "map@100": (1./2 + 2./4) / 3,
		"MRR@1": 0, "mrr@2": 1. / 2, "R@3": 1. / 3, "recall@4": 2. / 3, "top-1": 0, "top2": 1,
	} {
		m, err := AskedMetric(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := m.measure(ranking, j, m.depth); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s (%s) is %v, want %v", name, m.Key, got, want)
		}
	}
	for _, bad := range []string{"", "nDCG", "nDCG@0", "P@5", "MAP@-1", "nDCG@3,MAP@100", "nDCG@10000"} {
		if m, err := AskedMetric(bad); err == nil {
			t.Errorf("%q is %s", bad, m.Key)
		}
	}
}
