package evaluation

import "fmt"

// Metric is a column of the tables.
type Metric struct {
	Key, Heading, Meaning string
	Tested                bool // p-values are given for it
	Lower                 bool // less is better
	of                    func(*Outcome) float64
	answers               bool // for questions with answers, not for those with judgements
}

// Metrics lists the columns in their order. Those without a function are of
// confidences.
func Metrics() []Metric {
	var out []Metric
	for _, k := range []int{1, 5, 20, 100} {
		out = append(out, Metric{Key: fmt.Sprintf("top%d", k), Heading: fmt.Sprintf("top-%d", k), Tested: k == 1 || k == 20,
			Meaning: fmt.Sprintf("share of questions with a relevant passage among the first %d", k),
			of:      func(o *Outcome) float64 { return within(o.First, k) }})
	}
	out = append(
		out,
		Metric{
			Key:     "mrr10",
			Heading: "MRR@10",
			Meaning: "mean reciprocal rank of the first relevant passage among the first 10",
			of:      (*Outcome).reciprocal,
		},
		Metric{
			Key:     "ndcg10",
			Heading: "nDCG@10",
			Tested:  true,
			Meaning: "normalised discounted cumulative gain at 10, linear in the grade, as in trec_eval",
			of:      func(o *Outcome) float64 { return o.NDCG10 },
		},
		Metric{
			Key:     "map",
			Heading: "MAP",
			Meaning: "mean average precision of the ranking as deep as it goes",
			of:      func(o *Outcome) float64 { return o.AP },
		},
		Metric{
			Key:     "recall100",
			Heading: "R@100",
			Meaning: "share of the relevant passages among the first 100",
			of:      func(o *Outcome) float64 { return o.Recall100 },
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
				of: func(o *Outcome) float64 { return within(o.FirstAnswer, k) }},
		)
	}
	return append(
		out,
		Metric{
			Key:     "ece",
			Heading: "ECE",
			Lower:   true,
			Meaning: "expected calibration error of the confidence that the first passage is right, 10 bins",
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
