package calibration

import (
	"fmt"
	"slices"

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

// Without says why a question has no answer in the collection, if it has none.
type Without string

// The kinds of questions.
const (
	Answerable   Without = ""             // has one
	TakenOut     Without = "taken out"    // the passages that answer it were taken out of the candidates
	Unanswerable Without = "unanswerable" // its file says so
	Nonsense     Without = "nonsense"     // it asks nothing
)

// nonsenseShare is how much questions.Nonsense counts for in a fit, of the weight of the
// answerable questions. It is not measured by.
const nonsenseShare = .05

// mixed are answers with the weights by which a confidence is fitted and measured: half of
// the weight is of answerable questions. Of the other half an unanswerable question has as
// much as an answerable one, but all of them no more than half; those whose passages were
// taken out have the rest.
func mixed(answers []RankedQuestion) []RankedQuestion {
	n := map[Without]float64{}
	for _, a := range answers {
		n[a.Without]++
	}
	own := n[Answerable]
	unanswerable := min(n[Unanswerable], own/2)
	if n[TakenOut] == 0 {
		unanswerable = own
	}
	weights := map[Without]float64{
		Answerable: 1, TakenOut: (own - unanswerable) / n[TakenOut], Unanswerable: unanswerable / n[Unanswerable],
		Nonsense: nonsenseShare * own / n[Nonsense],
	}
	answers = slices.Clone(answers)
	for i := range answers {
		answers[i].Weight = weights[answers[i].Without]
	}
	return answers
}

// RankAnswers gives FitConfidence the answers to questions, behind them those to the same
// without the passages that answer, and behind these those to unanswerable questions and to
// nonsense, with the weights of a mixture in which half of the questions have an answer. answers is of the
// questions, in their order, and gates are those of the folds that gave them.
func RankAnswers(asked, unanswerable, nonsense []Question, answers []Answered, gates []fusion.Gate, specialists int) ([]RankedQuestion, error) {
	ranked := make([]RankedQuestion, 2*len(asked), 2*len(asked)+len(unanswerable))
	err := inParallel(len(asked), func(i int) error {
		q := &asked[i]
		ranked[i] = RankedQuestion{ID: q.ID, Signals: answers[i].Signals, First: answers[i].First, Asked: q, Passages: answers[i].Passages}
		without := q.Without()
		answer, err := without.answer(&gates[foldOf(q.ID)], specialists)
		if err != nil {
			return fmt.Errorf("without its answer: %w", err)
		}
		ranked[len(asked)+i] = RankedQuestion{ID: q.ID, Signals: answer.Signals, Without: TakenOut, Asked: q, Passages: answer.Passages}
		return nil
	})
	if err != nil {
		return nil, err
	}
	empty := slices.Concat(unanswerable, nonsense)
	none, err := AnswerByFold(gates, empty, specialists)
	for i, a := range none {
		without := Unanswerable
		if i >= len(unanswerable) {
			without = Nonsense
		}
		ranked = append(ranked, RankedQuestion{ID: empty[i].ID, Signals: a.Signals, Without: without, Asked: &empty[i], Passages: a.Passages})
	}
	return mixed(ranked), err
}
