package batcher

import "slices"

// entry is one question that waits or is in a run. Equal questions that arrive
// meanwhile share it.
type entry struct {
	key     string
	tokens  []int32
	arrival uint64
	callers []*question
	run     *run // nil while it waits
}

// waiting holds the entries that no run has taken, by length and then by
// arrival. It belongs to the batcher's goroutine.
type waiting struct {
	entries []*entry
	lengths []int // of entries, for group
}

func (w *waiting) len() int { return len(w.entries) }

func (w *waiting) add(e *entry) {
	at, _ := slices.BinarySearch(w.lengths, len(e.tokens)+1)
	w.entries = slices.Insert(w.entries, at, e)
	w.lengths = slices.Insert(w.lengths, at, len(e.tokens))
}

func (w *waiting) remove(e *entry) {
	if at := slices.Index(w.entries, e); at >= 0 {
		w.delete(at, at+1)
	}
}

// take removes and returns the entries of the next batch.
func (w *waiting) take(budget, start int) []*entry {
	oldest := 0
	for i, e := range w.entries {
		if e.arrival < w.entries[oldest].arrival {
			oldest = i
		}
	}
	first, last := group(w.lengths, oldest, budget, start)
	taken := slices.Clone(w.entries[first:last])
	w.delete(first, last)
	return taken
}

func (w *waiting) delete(first, last int) {
	w.entries = slices.Delete(w.entries, first, last)
	w.lengths = slices.Delete(w.lengths, first, last)
}
