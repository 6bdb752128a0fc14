package calibration

import (
	"fmt"

	"conclave/fusion"
	"conclave/rank"
)

// Without is the question as it would be in a collection that has none of the
// passages that answer it.
func (q *Question) Without() Question {
	gone := func(o rank.Ordinal) bool { return q.Relevant[o] > 0 }
	out := *q
	out.Table, out.Relevant = q.Table.Without(gone), nil
	out.Sources = make([]fusion.Observed, len(q.Sources))
	for i, s := range q.Sources {
		random := make([]rank.Hit, 0, len(s.Random))
		for _, h := range s.Random {
			if !gone(h.Ordinal) {
				random = append(random, h)
			}
		}
		s.Random = random
		out.Sources[i] = s
	}
	return out
}

// takenOutWeight is the weight of a question whose answers were removed; with its answers it has
// 1. Questions without an answer are common, but less so than the others.
const takenOutWeight = 2. / 3

// RankAnswers gives FitConfidence the answers to questions, and those to the same
// without the passages that answer, behind them: answers is of the questions, in
// their order, and gates are those of the folds that gave them.
func RankAnswers(questions []Question, answers []Answered, gates []fusion.Gate, specialists int) ([]RankedQuestion, error) {
	ranked := make([]RankedQuestion, 2*len(questions))
	err := inParallel(len(questions), func(i int) error {
		q := &questions[i]
		ranked[i] = RankedQuestion{ID: q.ID, Signals: answers[i].Signals, First: answers[i].First, Asked: q, Passages: answers[i].Passages}
		without := q.Without()
		answer, err := without.answer(&gates[foldOf(q.ID)], specialists)
		if err != nil {
			return fmt.Errorf("without its answer: %w", err)
		}
		ranked[len(questions)+i] = RankedQuestion{ID: q.ID, Signals: answer.Signals, Weight: takenOutWeight, Asked: q, Passages: answer.Passages}
		return nil
	})
	return ranked, err
}
