package main

import (
	"context"
	"slices"

	"conclave/calibration"
	"conclave/evaluation"
	"conclave/search"
	"conclave/serving"
)

// readingOptions are those of the first reader that marks words; nil: none is loaded.
func readingOptions(l *serving.Assembly, term terminal) *calibration.ReadingOptions {
	for _, r := range l.Engine.Readers() {
		if !r.Generates {
			bar := newProgress(term.Err)
			return &calibration.ReadingOptions{Mark: markerOf(l, r.Name), Reader: r.Fingerprint, Progress: func(done, total int) {
				bar.Report("reading", int64(done), int64(total), "questions")
				if done == total {
					bar.Finish()
				}
			}}
		}
	}
	return nil
}

// markerOf lets a loaded reader read passages of the collection as it is.
func markerOf(l *serving.Assembly, reader string) calibration.Marker {
	return func(ctx context.Context, q *calibration.Question, answers []calibration.Ranked) ([]func(float64) calibration.Mark, error) {
		g := l.Collection.Acquire()
		defer g.Release()
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
		read, err := l.Engine.Readings(ctx, reader, q.Text, slices.Compact(all))
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
					m.Words, m.Right = found.Signals, evaluation.ExactMatch(found.Text, q.Answers) == 1
				}
				return m
			}
		}
		return marks, nil
	}
}
