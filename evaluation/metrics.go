package evaluation

import (
	"cmp"
	"math"
	"slices"

	"example.org/conclave/internal/questions"
)

// ndcg returns the normalised discounted cumulative gain of the first k passages
// with linear gain: Σ grade/log2(rank+1), divided by that of the ideal order
// (trec_eval's ndcg_cut). A question without relevant passages scores 0.
func ndcg(ranking []string, j questions.Judgements, k int) float64 {
	gain := 0.0
	for i, id := range ranking[:min(k, len(ranking))] {
		gain += max(j[id], 0) / math.Log2(float64(i+2))
	}
	grades := make([]float64, 0, len(j))
	for _, grade := range j {
		if grade > 0 {
			grades = append(grades, grade)
		}
	}
	slices.SortFunc(grades, func(a, b float64) int { return cmp.Compare(b, a) })
	ideal := 0.0
	for i, grade := range grades[:min(k, len(grades))] {
		ideal += grade / math.Log2(float64(i+2))
	}
	if ideal == 0 {
		return 0
	}
	return gain / ideal
}

// averagePrecision returns the mean of the precisions at the ranks of the relevant
// passages; those that are not in the ranking count as 0.
func averagePrecision(ranking []string, j questions.Judgements) float64 {
	total := j.Relevant()
	if total == 0 {
		return 0
	}
	found, sum := 0, 0.0
	for i, id := range ranking {
		if j[id] > 0 {
			found++
			sum += float64(found) / float64(i+1)
		}
	}
	return sum / float64(total)
}

// recallAt returns the share of the relevant passages that are among the first k.
func recallAt(ranking []string, j questions.Judgements, k int) float64 {
	total := j.Relevant()
	if total == 0 {
		return 0
	}
	found := 0
	for _, id := range ranking[:min(k, len(ranking))] {
		if j[id] > 0 {
			found++
		}
	}
	return float64(found) / float64(total)
}
