package evaluation

import (
	"context"
	"slices"

	"conclave/calibration"
	"conclave/rank"
	"conclave/search"
)

// PassageIDs are the ids of a generation's passages.
type PassageIDs interface {
	ID(rank.Ordinal) (string, error)
}

// Marker lets a reader of the engine read passages of the generation that pin returns. pin
// also returns what releases it.
func Marker(engine AnswerEngine, reader string, pin func() (PassageIDs, func())) calibration.Marker {
	return func(ctx context.Context, q *calibration.Question, answers []calibration.Ranked) ([]func(float64) calibration.Mark, error) {
		g, release := pin()
		defer release()
		ids, all := make([][]string, len(answers)), []string{}
		for i, a := range answers {
			for _, p := range a.Passages {
				id, err := g.ID(p.Ordinal)
				if err != nil {
					return nil, err
				}
				ids[i] = append(ids[i], id)
			}
			all = append(all, ids[i]...)
		}
		slices.Sort(all)
		read, err := engine.Readings(ctx, reader, q.Text, slices.Compact(all))
		if err != nil {
			return nil, err
		}
		marks := make([]func(float64) calibration.Mark, len(answers))
		for i, a := range answers {
			scores := make([]float64, len(a.Passages))
			for n, p := range a.Passages {
				scores[n] = float64(p.Score)
			}
			marks[i] = func(weight float64) (m calibration.Mark) {
				of := read.Of(ids[i])
				if weight > 0 && len(scores) > 0 {
					m.Top = of.Weigh(scores, weight)[0]
				}
				m.First = of.Signals(a.Confidence)
				if found, ok := of.First(search.CombineBest, &a.Confidence); ok {
					m.Words, m.Right = found.Signals, ExactMatch(found.Text, q.Answers) == 1
				}
				return m
			}
		}
		return marks, nil
	}
}
