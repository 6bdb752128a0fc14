package calibration

import (
	"context"
	"fmt"

	"conclave/fusion"
	"conclave/rank"
)

// Answered is what a method made of a question: the rank of the first passage
// that answers, from 1, or 0 when it is not among the first Depth.
type Answered struct {
	First   int
	Signals []float64 // of a gated answer
}

// AnsweredDepth is how many passages of an answer are looked at.
const AnsweredDepth = 100

// HoldOutGate answers every question with a gate that was fitted on the other
// folds, so that what it gets right is what new questions may expect, and its
// signals are those of new questions.
func HoldOutGate(ctx context.Context, questions []GateQuestion, o GateOptions) ([]Answered, error) {
	return CrossFit(questions, func(q *GateQuestion) string { return q.ID },
		func(others []GateQuestion) (fusion.Gate, error) {
			fit, err := FitGate(ctx, others, o)
			return fit.Gate, err
		},
		func(g fusion.Gate, q *GateQuestion) (Answered, error) {
			r, err := fusion.Gated(q.Table, &g, q.Sources, fusion.Exact, AnsweredDepth)
			if err != nil {
				return Answered{}, fmt.Errorf("question %q: %w", q.ID, err)
			}
			return Answered{First: firstRelevant(r, q.Relevant), Signals: fusion.Signals(q.Table, q.Sources, r)}, nil
		})
}

// firstRelevant is the rank of the first item that answers, 0 for none.
func firstRelevant(r fusion.Ranking, relevant map[rank.Ordinal]float64) int {
	for i, item := range r.Items {
		if relevant[item.Ordinal] > 0 {
			return i + 1
		}
	}
	return 0
}

// By answers every question by a method that needs no fitting.
func By(questions []GateQuestion, method func(q *GateQuestion) (fusion.Ranking, error)) ([]Answered, error) {
	out := make([]Answered, len(questions))
	for i := range questions {
		r, err := method(&questions[i])
		if err != nil {
			return nil, fmt.Errorf("question %q: %w", questions[i].ID, err)
		}
		out[i].First = firstRelevant(r, questions[i].Relevant)
	}
	return out, nil
}

// Accuracy is the share of questions with a passage that answers among the
// first k, 0 to 1.
func Accuracy(answers []Answered, k int) float64 {
	right := 0.0
	for _, a := range answers {
		if a.First > 0 && a.First <= k {
			right++
		}
	}
	return right / float64(max(len(answers), 1))
}
