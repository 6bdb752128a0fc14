package bm25

import (
	"context"
	"math/bits"

	"example.org/conclave/internal/rank"
)

const (
	// window is how many passages are scored together: their sums fit in the
	// first-level cache.
	window     = 1 << 12
	windowMask = window - 1
)

// searchSegment offers the passages of one segment that may be among the best to w.best. It fails if the index is
// damaged or ctx ends.
//
// It is MaxScore (Turtle and Flood, 1995) over windows of passages, with the bounds taken from the blocks that meet
// the window (Ding and Suel, 2011). In each window the heaviest terms, down to where the rest together can no longer
// reach the threshold, are added up term by term; the rest is looked up for the passages that can still make it,
// lightest last. Where so many passages have a heavy term that looking up would cost more than adding, all terms are
// added up. Terms are always added in the same order.
//
// With a selection, windows without a selected passage are skipped. In a window with few of them, these are looked up
// in all terms. The threshold is the score of the K-th best selected passage, so it stays a lower bound for the hits.
//
// What other forms of terms add comes first, so that a passage without an essential term that has one is among the
// candidates.
func (w *scratch) searchSegment(ctx context.Context, g *segment) error {
	n := len(w.cursors)
	passages := g.Index.passages
	for from := uint32(0); from < passages; from += window {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		to := min(from+window, passages)
		selected := w.selected(from, to)
		if selected == 0 {
			w.stats.skipped++
			continue
		}
		left := false
		for i := n - 1; i >= 0; i-- {
			c := w.cursors[i]
			c.skipTo(from)
			w.most[i] = w.most[i+1] + c.bound(to)
			left = left || c.block < c.record.blocks
		}
		threshold := float64(w.best.threshold)
		most, also := w.boundOthers(from, to)
		if w.most[0]+most <= threshold || !left && !also {
			w.stats.skipped++
			continue
		}
		w.stats.windows++
		essential := n
		for essential > 1 && w.most[essential-1] <= threshold {
			essential--
		}
		// In nanoseconds, about: 12 for a look-up, 2.5 for an addition.
		heavy := w.dense[0] - w.dense[essential]
		light := w.dense[essential]
		err := w.findOthers(from, to)
		switch {
		case err != nil:
		case w.among != nil && 12*float64(selected*n) < 2.5*heavy:
			err = w.lookUpSelected(g, from, to)
		case heavy > sparse && 12*heavy*float64(n-essential) >= 2.5*light:
			err = w.addUp(g, from, to)
		default:
			err = w.lookUp(g, from, to, essential)
		}
		w.forgetOthers()
		if err != nil {
			clear(w.sums[:])
			clear(w.touched[:])
			return err
		}
	}
	return nil
}

// sparse is how many postings a window must have for adding up all of it.
const sparse = window / 16

// addUp scores the passages of a window, from up to, but not including, to, by adding up all terms, and offers the
// selected ones to w.best. It leaves w.sums and w.touched empty, except on an error.
func (w *scratch) addUp(g *segment, from, to uint32) error {
	threshold := w.best.threshold
	for _, c := range w.cursors {
		if err := w.addTerm(c, from, to, threshold); err != nil {
			return err
		}
	}
	if err := w.addOthers(from); err != nil {
		return err
	}
	for i, word := range w.touched {
		if word != 0 {
			word &= w.selection(from, i)
		}
		for ; word != 0; word &= word - 1 {
			at := 64*i + bits.TrailingZeros64(word)
			w.offer(g, from+uint32(at), w.sums[at])
		}
	}
	clear(w.touched[:])
	clear(w.sums[:])
	return nil
}

// lookUp scores the passages of a window, from up to, but not including, to, that have one of the first essential
// terms or another form, looks them up in the other terms, and offers them to w.best. It leaves w.sums and w.touched
// empty, except on an error.
func (w *scratch) lookUp(g *segment, from, to uint32, essential int) error {
	for _, c := range w.cursors[:essential] {
		if err := w.addTerm(c, from, to, none); err != nil {
			return err
		}
	}
	w.touchOthers()
	n := w.gather(from, w.most[essential])
	for i := essential; i < len(w.cursors) && n > 0; i++ {
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
		w.offer(g, from+uint32(at), w.sums[at])
	}
	w.forget()
	return nil
}

// offer offers a passage of the segment with this sum to w.best, unless it is deleted or its score too low.
func (w *scratch) offer(g *segment, passage uint32, sum float64) {
	if score := float32(sum); score > w.best.threshold && !g.isDeleted(passage) {
		w.best.offer(g.Base+rank.Ordinal(passage), score)
	}
}

// nextPostings moves a cursor to its next postings in a window: those in the decoded block from c.place up to, but
// not including, end. ok is false if there are no more. The caller sets c.place to end. It returns a *DamageError for
// a damaged block.
func (w *scratch) nextPostings(c *cursor, from, to uint32) (end int, ok bool, err error) {
	for ; c.block < c.record.blocks; c.block, c.decoded = c.block+1, false {
		if !c.decoded {
			if err := c.decode(); err != nil {
				return 0, false, err
			}
			w.stats.decoded += c.n
		}
		for c.place < c.n && c.passages[c.place] < from {
			c.place++
		}
		if c.place == c.n {
			continue
		}
		if c.passages[c.n-1] < to {
			return c.n, true, nil
		}
		end = c.place
		for c.passages[end] < to {
			end++
		}
		return end, end > c.place, nil
	}
	return 0, false, nil
}

// addTerm adds what a term adds to the passages of a window to w.sums, and marks in w.touched those whose sum is then
// greater than above. Sums only grow, so that in the end all passages above it are marked. The cursor ends after the
// window. It fails with a *DamageError; w.sums then has a part. The window goes from passage from up to, but not
// including, to.
func (w *scratch) addTerm(c *cursor, from, to uint32, above float32) error {
	threshold := float64(above)
	for {
		end, ok, err := w.nextPostings(c, from, to)
		if !ok {
			return err
		}
		if c.wide {
			err = c.eachScore(end, func(passage uint32, score float64) {
				at := passage & windowMask
				w.sums[at] += score
				if w.sums[at] > threshold {
					w.touched[at/64] |= 1 << (at % 64)
				}
			})
			if err != nil {
				return err
			}
		} else {
			passages, codes := c.passages[c.place:end], c.codes[c.place:end]
			codes = codes[:len(passages)]
			for i, passage := range passages {
				at := passage & windowMask
				sum := w.sums[at] + c.scores[codes[i]]
				w.sums[at] = sum
				if sum > threshold {
					w.touched[at/64] |= 1 << (at % 64)
				}
			}
		}
		c.place = end
	}
}

// gather writes to w.candidates the selected, touched passages whose sum can still exceed the threshold if rest is
// the most that other terms add. It returns how many there are. from is the first passage of the window.
func (w *scratch) gather(from uint32, rest float64) (n int) {
	threshold := float64(w.best.threshold)
	for i, word := range w.touched {
		if word != 0 {
			word &= w.selection(from, i)
		}
		for ; word != 0; word &= word - 1 {
			at := 64*i + bits.TrailingZeros64(word)
			if w.sums[at]+w.more[at]+rest > threshold {
				w.candidates[n] = uint16(at)
				n++
			}
		}
	}
	return n
}

// addToCandidates adds the scores of term number i to the first n candidates, and drops those that cannot exceed the
// threshold any more. It returns how many are left. It returns a *DamageError for a damaged block. from is the first
// passage of the window.
func (w *scratch) addToCandidates(i int, from uint32, n int) (int, error) {
	c := w.cursors[i]
	threshold := float64(w.best.threshold)
	kept := 0
	for _, at := range w.candidates[:n] {
		sum := w.sums[at]
		if sum+w.most[i] <= threshold && sum+w.more[at]+w.most[i] <= threshold {
			continue
		}
		passage := from + uint32(at)
		c.skipTo(passage)
		if c.block < c.record.blocks {
			if !c.decoded {
				if sum+c.scale.bound(c.weight, c.highOf(c.block))+w.most[i+1]+w.more[at] <= threshold {
					continue
				}
				if err := c.decode(); err != nil {
					return 0, err
				}
				w.stats.decoded += c.n
			}
			for c.place < c.n && c.passages[c.place] < passage {
				c.place++
			}
			if c.place < c.n && c.passages[c.place] == passage {
				rank, ok := c.rankAt(c.place)
				if !ok {
					return 0, c.damaged()
				}
				w.sums[at] = sum + c.scoreOf(rank)
				w.touched[at/64] |= 1 << (at % 64)
			}
		}
		w.candidates[kept] = at
		kept++
	}
	return kept, nil
}

// forget sets the sums and marks of the touched passages to 0.
func (w *scratch) forget() {
	for i, word := range w.touched {
		if word != 0 {
			clear(w.sums[64*i : 64*i+64])
			w.touched[i] = 0
		}
	}
}
