package ablation

import (
	"maps"
	"slices"

	"example.org/conclave/calibration"
	"example.org/conclave/evaluation"
)

// Accuracies are the shares, from 0 to 1, of the questions with a passage that answers among the first 1, 5 and 20.
type Accuracies struct {
	Top1  float64 `json:"top1"`
	Top5  float64 `json:"top5"`
	Top20 float64 `json:"top20"`
}

// Row is the result of one way to answer.
type Row struct {
	Name string `json:"name"`
	// Weight is BM25's beside the mean of the experts' scores, where it is a
	// fixed one.
	Weight *float64 `json:"weight,omitempty"`
	// All is over all questions, Macro the mean over domains.
	All     Accuracies            `json:"all"`
	Macro   Accuracies            `json:"macro"`
	Domains map[string]Accuracies `json:"domains"`
	// P are the two-sided p-values of a paired randomisation test against the
	// first row of the table, at top-1 and top-20.
	P *Significance `json:"p,omitempty"`

	answers []calibration.MethodAnswer
}

// Significance has p-values.
type Significance struct {
	Top1  float64 `json:"top1"`
	Top20 float64 `json:"top20"`
}

// row returns the row of a table with this name for the answers to the questions of e, in their order: accuracies
// over all, by domain, and the mean over domains.
func (e *evidence) row(name string, answers []calibration.MethodAnswer) Row {
	r := Row{Name: name, All: accuracies(answers), Domains: map[string]Accuracies{}, answers: answers}
	own := map[string][]calibration.MethodAnswer{}
	for i, q := range e.Questions {
		own[q.Domain] = append(own[q.Domain], answers[i])
	}
	for _, domain := range slices.Sorted(maps.Keys(own)) { // so that the sum is always the same
		r.Domains[domain] = accuracies(own[domain])
		r.Macro.addShare(r.Domains[domain], float64(len(own)))
	}
	return r
}

// accuracies returns the shares of the questions that are answered by one of the first 1, 5 and 20 passages.
func accuracies(answers []calibration.MethodAnswer) Accuracies {
	return Accuracies{
		calibration.Accuracy(answers, 1),
		calibration.Accuracy(answers, 5),
		calibration.Accuracy(answers, 20),
	}
}

// rounds of the randomisation test, and its seed.
const (
	testRounds = 10_000
	testSeed   = 13
)

// compareTo sets the row's p-values, two-sided, of the differences from another row at top-1 and top-20, by a paired
// randomisation test. Both rows must be of the same questions.
func (r *Row) compareTo(other *Row) {
	right := func(answers []calibration.MethodAnswer, k int) []float64 {
		out := make([]float64, len(answers))
		for i, a := range answers {
			if a.First > 0 && a.First <= k {
				out[i] = 1
			}
		}
		return out
	}
	p := func(k int) float64 {
		return evaluation.PairedRandomisation(right(r.answers, k), right(other.answers, k), testRounds, testSeed)
	}
	r.P = &Significance{Top1: p(1), Top20: p(20)}
}
