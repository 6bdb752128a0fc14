package search

import (
	"cmp"
	"context"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
)

// Read is what a reader said of passages for a question. It is for measuring.
type Read struct {
	Passages []corpus.Passage
	Readings []Reading // of each passage
	// Ranking is LoadedReader's.
	Ranking float64
}

// Readings lets a reader, by name ("": the default), read passages for a question, in
// the order of their ids.
func (e *Engine) Readings(ctx context.Context, reader, question string, ids []string) (out Read, err error) {
	l, err := e.begin()
	if err != nil {
		return out, err
	}
	defer l.leave()
	var wrong problems
	x := l.readerFor(reader, &wrong)
	if x != nil && x.Reader == nil {
		wrong.add("unknown_reader", "/answer/reader", "%s writes answers and marks none", wording.Quote(x.Name))
	}
	if err := wrong.err(); err != nil {
		return out, err
	}
	out.Ranking = x.Ranking
	for _, id := range ids {
		passage, _, err := e.Passage(ctx, id)
		if err != nil {
			return out, err
		}
		out.Passages = append(out.Passages, passage)
	}
	err = guard(func() error { out.Readings, err = x.Read(ctx, question, out.Passages); return err })
	return out, err
}

// Weigh adds to the selections of passages what their ranking says of them: its scores,
// times a weight. So both are log-odds of which passage answers (DPR selects by the
// reader alone). It returns the passages' new order, the most likely first.
func (r *Read) Weigh(scores []float64, weight float64) (order []int) {
	for i := range r.Readings {
		r.Readings[i].Select += weight * scores[i]
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.Readings[b].Select, r.Readings[a].Select) })
	sorted := Read{Ranking: r.Ranking}
	for _, i := range order {
		sorted.Passages, sorted.Readings = append(sorted.Passages, r.Passages[i]), append(sorted.Readings, r.Readings[i])
	}
	*r = sorted
	return order
}

// Of returns what it said of some of the passages, by id, in this order.
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
func (r *Read) First(combine string, confidence *float64) (first Extract, ok bool) {
	if all := extracts(r.Passages, r.Readings, combine, confidence, nil); len(all) > 0 {
		return all[0], true
	}
	return first, false
}

// Signals works as ReadSignals does for passages in the order of their ranking; nil of none.
func (r *Read) Signals(confidence float64) []float64 {
	if len(r.Readings) == 0 {
		return nil
	}
	return readSignals(r.Readings, confidence)
}
