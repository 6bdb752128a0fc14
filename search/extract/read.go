// Package extract chooses the words that answer a question from a reader's readings of passages. It also computes the
// signals from which calibrated chances are computed: of a marked answer, of a ranking with a reader, and of one with a
// reranker.
package extract

import (
	"cmp"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// Read has the readings of some passages for a question. Answers and calibration use it.
type Read struct {
	Passages []corpus.Passage
	Readings []learned.ReadResult // Readings[i] is of Passages[i]
	// Ranking is learned.LoadedReader's.
	Ranking float64
}

// Weigh orders the passages that a reader read by reader and ranking together: it adds weight times a passage's score
// in the ranking to the Select of its reading, and sorts passages and readings by the sum, the highest first. Equal
// ones keep their order. scores has one number for each passage. It returns the old index of each passage in the new
// order. The Readings of before are changed in place; r gets new lists.
func (r *Read) Weigh(scores []float64, weight float64) (order []int) {
	for i := range r.Readings {
		r.Readings[i].Select += weight * scores[i]
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.Readings[b].Select, r.Readings[a].Select) })
	sorted := Read{Ranking: r.Ranking}
	for _, i := range order {
		sorted.Passages, sorted.Readings = append(
			sorted.Passages, r.Passages[i],
		), append(
			sorted.Readings,
			r.Readings[i],
		)
	}
	*r = sorted
	return order
}

// Of returns the passages with these ids and their readings, in the order of ids. It leaves out ids that were not read.
// Ranking is not set in the result.
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

// First returns the likeliest extract, without a chance. combine and confidence are as for Extracts. ok is false if
// there is no extract.
func (r *Read) First(combine string, confidence *float64) (first reply.Extract, ok bool) {
	if all := Extracts(r.Passages, r.Readings, combine, confidence, nil); len(all) > 0 {
		return all[0], true
	}
	return first, false
}

// Signals returns the signals of the reader, in the order of ReadSignals; nil if nothing was read. The passages have to
// be in the order of their ranking, and confidence is the ranking's without the reader. Near copies of the first
// passage are left out.
func (r *Read) Signals(confidence float64) []float64 {
	if len(r.Readings) == 0 {
		return nil
	}
	rivals := r.Readings[:1:1]
	first := Shingle(r.Passages[0].Text)
	for i := 1; i < len(r.Readings); i++ {
		if !first.Repeats(Shingle(r.Passages[i].Text)) {
			rivals = append(rivals, r.Readings[i])
		}
	}
	return readSignals(rivals, confidence)
}
