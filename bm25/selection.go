package bm25

import "math/bits"

// A Selection names passages of a Searcher's segments: for each segment, in
// order, a list of bits like Segment.Deleted, which may be shorter than the
// segment. A nil list is all passages of its segment; a list without a bit,
// which may be empty, is none. A nil Selection is all passages. Passages that are
// deleted are not found whatever it says.
type Selection [][]uint64

// selected returns the number of selected passages from passage from up to, but not including, to, in whole words of
// 64; all of them if there is no selection.
func (w *scratch) selected(from, to uint32) int {
	if w.among == nil {
		return int(to - from)
	}
	n := 0
	for at := int(from / 64); at < min(int(to+63)/64, len(w.among)); at++ {
		n += bits.OnesCount64(w.among[at])
	}
	return n
}

// selection returns the bits of the selected passages among 64 of a window that begins at from: those of its word
// number word.
func (w *scratch) selection(from uint32, word int) uint64 {
	if w.among == nil {
		return ^uint64(0)
	}
	if at := int(from/64) + word; at < len(w.among) {
		return w.among[at]
	}
	return 0
}

// lookUpSelected scores the selected passages of a window by looking each up in all terms, and offers them to w.best.
// It is for windows with few selected passages. It leaves w.sums and w.touched empty, except on an error. The window
// goes from passage from up to, but not including, to.
func (w *scratch) lookUpSelected(g *segment, from, to uint32) error {
	n := 0
	for word := range int(to-from+63) / 64 {
		for set := w.selection(from, word); set != 0; set &= set - 1 {
			// A bit beyond the segment's last passage has no posting and falls out.
			w.candidates[n] = uint16(64*word + bits.TrailingZeros64(set))
			n++
		}
	}
	for i := 0; i < len(w.cursors) && n > 0; i++ {
		var err error
		n, err = w.addToCandidates(i, from, n)
		if err != nil {
			return err
		}
	}
	if err := w.addOthers(from); err != nil {
		return err
	}
	for _, at := range w.candidates[:n] {
		if w.touched[at/64]>>(at%64)&1 != 0 { // has a term
			w.offer(g, from+uint32(at), w.sums[at])
		}
	}
	w.forget()
	return nil
}
