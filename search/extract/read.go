// Package extract chooses the words that answer from what a reader said of passages (Read), and computes the signals
// from which fitted chances are computed: of an answer, of a reader and of a reranker.
package extract

import (
	"cmp"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// Read is what a reader said of passages for a question. It is for measuring.
type Read struct {
	Passages []corpus.Passage
	Readings []learned.Reading // of each passage
	// Ranking is LoadedReader's.
	Ranking float64
}

// Weigh adds to the selection of each passage its score in the ranking, times a weight, so that both are log-odds of
// which passage answers, and sorts passages and readings by the sums. It returns the old indexes in the new order, the
// most likely first.
func (r *Read) Weigh(scores []float64, weight float64) (order []int) {
	for i := range r.Readings {
		r.Readings[i].Select += weight * scores[i]
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.Readings[b].Select, r.Readings[a].Select) })
	sorted := Read{Ranking: r.Ranking}
	for _, i := range order {
		sorted.Passages, sorted.Readings = append(
			sorted.Passages,
			r.Passages[i],
		), append(
			sorted.Readings,
			r.Readings[i],
		)
	}
	*r = sorted
	return order
}

// Of returns the readings of the passages with these ids, in this order. Ids that were not read are left out.
func (r *Read) Of(ids []string) (out Read) {
	for _, id := range ids {
		for i := range r.Passages {
			if r.Passages[i].ID == id {
				out.Passages, out.Readings = append(out.Passages, r.Passages[i]), append(out.Readings, r.Readings[i])
			}
		}
	}
	return out
}

// First returns the likeliest answer of passages in the order of their ranking, whose
// confidence without the reader is given; nil: it is not known. ok is false where
// there is none.
func (r *Read) First(combine string, confidence *float64) (first reply.Extract, ok bool) {
	if all := Extracts(r.Passages, r.Readings, combine, confidence, nil); len(all) > 0 {
		return all[0], true
	}
	return first, false
}

// Signals returns the ReadSignals of passages in the order of their ranking; nil of none.
func (r *Read) Signals(confidence float64) []float64 {
	if len(r.Readings) == 0 {
		return nil
	}
	rivals := r.Readings[:1:1]
	for i := 1; i < len(r.Readings); i++ {
		if !Repeats(Shingles(r.Passages[0].Text), Shingles(r.Passages[i].Text)) {
			rivals = append(rivals, r.Readings[i])
		}
	}
	return readSignals(rivals, confidence)
}
