package evaluation

import (
	"context"
	"slices"

	"example.org/conclave/calibration"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/extract"
	"example.org/conclave/search/learned"
)

// PassageIDs returns the ids of passages.
type PassageIDs interface {
	IDs(context.Context, []rank.Ordinal) ([]string, error)
}

// Reading returns the options for fitting the engine's first reader that marks words; nil if it has none.
func Reading(engine AnswerEngine, passages PassageIDs, progress func(done, total int)) *calibration.ReadingOptions {
	for _, r := range engine.Readers() {
		if !r.Generates {
			return &calibration.ReadingOptions{
				Mark: newMarker(engine, r.Name, passages), Reader: r.Fingerprint, Progress: progress,
			}
		}
	}
	return nil
}

// reranked returns what a search does that lets a reader rerank the passages of a ranking with these scores and
// readings: which passage is first, and extract.RerankSignals with the reader's weight and the ranking's confidence. It
// returns 0 and nil if no other passage than the first is within reach.
func reranked(
	scores []float64,
	readings []learned.ReadResult,
	weight, confidence float64,
) (top int, signals []float64) {
	within := extract.WithinReach(scores, weight)
	if within < 2 {
		return 0, nil
	}
	said := make([]float64, within)
	for i := range said {
		said[i] = readings[i].Select
	}
	return extract.RerankedSignals(scores[:within], said, weight, confidence)
}

// newMarker returns a function that lets a reader of the engine mark words in the passages of some answers to a
// question. reader is the reader's name; "": the first. The function fails if ids cannot be looked up or the engine's
// Readings does.
func newMarker(engine AnswerEngine, reader string, passages PassageIDs) calibration.Marker {
	return func(ctx context.Context, q *calibration.Question,
		answers []calibration.RankedPassages) ([]func(float64) calibration.Mark, error) {
		ids := make([][]string, len(answers))
		all := []string{}
		for i, a := range answers {
			ordinals := make([]rank.Ordinal, len(a.Passages))
			for n, p := range a.Passages {
				ordinals[n] = p.Ordinal
			}
			var err error
			ids[i], err = passages.IDs(ctx, ordinals)
			if err != nil {
				return nil, err
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
				readings := read.Of(ids[i])
				if weight > 0 && len(scores) > 0 {
					m.RerankedTop, m.Reranked = reranked(scores, readings.Readings, 1/weight, a.Confidence)
					m.Top = readings.Weigh(scores, weight)[0]
				}
				m.First = readings.Signals(a.Confidence)
				if found, ok := readings.First(ask.CombineBest, &a.Confidence); ok {
					m.Right = Acceptable(found.Text, q.Answers)
					m.Words = found.Signals
				}
				return m
			}
		}
		return marks, nil
	}
}
