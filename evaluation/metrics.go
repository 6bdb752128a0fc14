package evaluation

import (
	"cmp"
	"fmt"
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

// Metric is a column of the tables.
type Metric struct {
	Key, Heading, Meaning string
	Tested                bool                   // p-values are given for it
	Lower                 bool                   // less is better
	score                 func(*Outcome) float64 // of a question; nil: the metric is of all questions together
	answers               bool                   // for questions with answers, not for those with judgements

	// measure is of a measure that was asked for (AskedMetric), with its depth.
	measure func(ranking []string, j questions.Judgements, k int) float64
	depth   int
}

// Metrics returns the usual metrics in the order of the columns. Those of confidences have no function of an outcome.
// The list is new.
func Metrics() []Metric {
	var out []Metric
	for _, k := range []int{1, 5, 20, 100} {
		out = append(out, Metric{Key: fmt.Sprintf("top%d", k), Heading: fmt.Sprintf("top-%d", k), Tested: k == 1 || k == 20,
			Meaning: fmt.Sprintf("share of questions with a relevant passage among the first %d", k),
			score:   func(o *Outcome) float64 { return isWithin(o.First, k) }})
	}
	out = append(
		out,
		Metric{
			Key:     "mrr10",
			Heading: "MRR@10",
			Meaning: "mean reciprocal rank of the first relevant passage among the first 10",
			score:   (*Outcome).reciprocalRank,
		},
		Metric{
			Key:     "ndcg10",
			Heading: "nDCG@10",
			Tested:  true,
			Meaning: "normalised discounted cumulative gain at 10, linear in the grade, as in trec_eval",
			score:   func(o *Outcome) float64 { return o.NDCG10 },
		},
		Metric{
			Key:     "map",
			Heading: "MAP",
			Meaning: "mean average precision of the ranking as deep as it goes",
			score:   func(o *Outcome) float64 { return o.AP },
		},
		Metric{
			Key:     "recall100",
			Heading: "R@100",
			Meaning: "share of the relevant passages among the first 100",
			score:   func(o *Outcome) float64 { return o.Recall100 },
		},
	)
	for _, k := range []int{1, 5, 20, 100} {
		out = append(
			out,
			Metric{Key: fmt.Sprintf("answer%d", k), Heading: fmt.Sprintf("ans-%d", k), Tested: k == 1 || k == 20, answers: true,
				Meaning: fmt.Sprintf(
					"share of questions with an answer in the text of the first %d passages, by DPR's rules (of the questions that have answers)",
					k,
				),
				score: func(o *Outcome) float64 { return isWithin(o.FirstAnswer, k) }},
		)
	}
	return append(
		out,
		Metric{
			Key:     "ece",
			Heading: "ECE",
			Lower:   true,
			Meaning: "expected calibration error of the confidence that the first passage is right, 10 bins, where three of four questions have an answer: the others are the same with their passages taken out, and unanswerable ones",
		},
		Metric{
			Key:     "auroc",
			Heading: "AUROC",
			Meaning: "chance that of a right and a wrong first passage the right one has the higher confidence",
		},
		Metric{
			Key:     "given",
			Heading: "right ≥½",
			Meaning: "share of the right first passages that are given at a min_confidence of 0.5",
		},
		Metric{
			Key:     "silent",
			Heading: "none <½",
			Meaning: "share of the unanswerable questions that get no answer at a min_confidence of 0.5",
		},
		Metric{
			Key:     "surest_half",
			Heading: "top-1 @½",
			Meaning: "top-1 where only the surest half of the questions is answered",
		},
	)
}
