package bm25

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"conclave/rank"
)

const (
	// window is how many passages are scored together: their sums fit in the
	// first-level cache.
	window     = 1 << 12
	windowMask = window - 1

	// patience is how many windows pass between two looks at the context.
	patience = 32
)

// Search returns the k passages with the highest scores, best first, equal
// scores by the lower ordinal. Passages without a term of the question are not
// hits. A question without terms has no hits.
func (x *Index) Search(ctx context.Context, question string, k int) ([]rank.Hit, error) {
	return x.alone.Search(ctx, question, k)
}

// Search returns the k passages with the highest scores, best first, equal
// scores by the lower ordinal. Passages without a term of the question are not
// hits. A question without terms has no hits.
func (s *Searcher) Search(ctx context.Context, question string, k int) ([]rank.Hit, error) {
	hits, _, err := s.SearchStats(ctx, question, k)
	return hits, err
}

// SearchStats says what a search cost.
type SearchStats struct {
	Terms    int // distinct terms of the question that some passage has
	Postings int // what these terms have, in all segments
	Decoded  int // postings that were decoded
	Windows  int // stretches of passages that were scored
	Skipped  int // stretches that could not hold a hit
}

// SearchStats is Search, and says what it cost.
func (s *Searcher) SearchStats(ctx context.Context, question string, k int) ([]rank.Hit, SearchStats, error) {
	var stats SearchStats
	if k < 1 {
		return nil, stats, fmt.Errorf("k is %d: it must be at least 1", k)
	}
	if err := ctx.Err(); err != nil {
		return nil, stats, context.Cause(ctx)
	}
	terms, err := s.understand(question)
	if err != nil || len(terms) == 0 {
		return nil, stats, err
	}
	stats.Terms = len(terms)
	w := s.takeScratch()
	defer s.scratch.Put(w)
	w.stats = &stats
	w.best.reset(min(k, s.statistics.Passages))
	for i, g := range s.segments {
		if err := w.openCursors(g, terms, i); err != nil {
			return nil, stats, err
		}
		if err := w.searchSegment(ctx, g); err != nil {
			return nil, stats, err
		}
	}
	return w.best.sorted(), stats, nil
}

// scratch is the memory of one search.
type scratch struct {
	best    best
	cursors []*cursor // one per term that the segment has, heaviest first
	spare   []*cursor
	most    []float64 // per cursor, and one 0 more: the most that it and those after it add to a passage of the window
	stats   *SearchStats

	sums       [window]float64
	touched    [window / 64]uint64 // passages of the window with a sum
	candidates [window]uint16
}

func (s *Searcher) takeScratch() *scratch {
	if w, ok := s.scratch.Get().(*scratch); ok {
		return w
	}
	return &scratch{}
}

// openCursors sets a cursor to the beginning of each term's postings.
func (w *scratch) openCursors(g *segment, terms []questionTerm, at int) error {
	w.spare = append(w.spare, w.cursors...)
	w.cursors = w.cursors[:0]
	for _, t := range terms {
		r := t.records[at]
		if r.df == 0 {
			continue
		}
		c := &cursor{}
		if n := len(w.spare); n > 0 {
			c, w.spare = w.spare[n-1], w.spare[:n-1]
		}
		w.cursors = append(w.cursors, c)
		if err := c.reset(g.Index, g.scale, r, float64(t.weight)); err != nil {
			return err
		}
		w.stats.Postings += int(r.df)
	}
	return nil
}

// searchSegment offers the passages of one segment.
//
// It is MaxScore (Turtle and Flood, 1995) over windows of passages, with the
// bounds taken from the blocks that meet the window (Ding and Suel, 2011). In
// each window the heaviest terms, down to where the rest together can no longer
// reach the threshold, are added up term by term; the rest is looked up for the
// passages that can still make it, lightest last. Terms are always added in the
// same order.
func (w *scratch) searchSegment(ctx context.Context, g *segment) error {
	n := len(w.cursors)
	w.most = append(w.most[:0], make([]float64, n+1)...)
	passages := g.Index.passages
	for from := uint32(0); from < passages; from += window {
		if from/window%patience == patience-1 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		to := min(from+window, passages)
		for i := n - 1; i >= 0; i-- {
			c := w.cursors[i]
			c.skipTo(from)
			w.most[i] = w.most[i+1] + c.bound(to)
		}
		threshold := float64(w.best.threshold)
		if w.most[0] <= threshold || w.most[0] == 0 {
			w.stats.Skipped++
			continue
		}
		w.stats.Windows++
		essential := n
		for essential > 1 && w.most[essential-1] <= threshold {
			essential--
		}
		if err := w.scoreWindow(g, from, to, essential); err != nil {
			return err
		}
	}
	return nil
}

// scoreWindow scores the passages of a window that have one of the essential
// terms.
func (w *scratch) scoreWindow(g *segment, from, to uint32, essential int) error {
	for _, c := range w.cursors[:essential] {
		if err := w.addTerm(c, from, to); err != nil {
			w.forget()
			return err
		}
	}
	n := w.gather(w.most[essential])
	for i := essential; i < len(w.cursors) && n > 0; i++ {
		var err error
		if n, err = w.lookUp(i, from, n); err != nil {
			w.forget()
			return err
		}
	}
	for _, at := range w.candidates[:n] {
		score := float32(w.sums[at])
		if score > w.best.threshold {
			if passage := from + uint32(at); !g.isDeleted(passage) {
				w.best.offer(rank.Hit{Ordinal: g.Base + rank.Ordinal(passage), Score: score})
			}
		}
	}
	w.forget()
	return nil
}

// addTerm adds a term's scores in the window to the sums.
func (w *scratch) addTerm(c *cursor, from, to uint32) error {
	for ; c.block < c.record.blocks; c.block, c.decoded = c.block+1, false {
		if !c.decoded {
			if err := c.decode(); err != nil {
				return err
			}
			w.stats.Decoded += c.n
		}
		for c.place < c.n && c.passages[c.place] < from {
			c.place++
		}
		end := c.place
		if c.passages[c.n-1] < to {
			end = c.n
		} else {
			for c.passages[end] < to {
				end++
			}
		}
		if c.wide {
			for i := c.place; i < end; i++ {
				rank, ok := c.rankAt(i)
				if !ok {
					return c.damaged()
				}
				at := c.passages[i] & windowMask
				w.sums[at] += c.weight * c.scale.ofRank[rank]
				w.touched[at/64] |= 1 << (at % 64)
			}
		} else {
			passages, codes := c.passages[c.place:end], c.codes[c.place:end]
			for i, passage := range passages {
				at := passage & windowMask
				w.sums[at] += c.weight * c.scale.ofCode[codes[i]]
				w.touched[at/64] |= 1 << (at % 64)
			}
		}
		c.place = end
		if end < c.n {
			return nil
		}
	}
	return nil
}

// gather lists the passages whose sum can still beat the threshold when rest
// is the most that is to be added.
func (w *scratch) gather(rest float64) (n int) {
	threshold := float64(w.best.threshold)
	for i, word := range w.touched {
		for ; word != 0; word &= word - 1 {
			at := 64*i + bits.TrailingZeros64(word)
			if w.sums[at]+rest > threshold {
				w.candidates[n] = uint16(at)
				n++
			}
		}
	}
	return n
}

// lookUp adds the scores of term i to the candidates, of which those that can
// no longer make it are dropped.
func (w *scratch) lookUp(i int, from uint32, n int) (int, error) {
	c := w.cursors[i]
	threshold := float64(w.best.threshold)
	kept := 0
	for _, at := range w.candidates[:n] {
		sum := w.sums[at]
		if sum+w.most[i] <= threshold {
			continue
		}
		passage := from + uint32(at)
		c.skipTo(passage)
		if c.block < c.record.blocks {
			if !c.decoded {
				if sum+c.weight*c.scale.bound(c.highOf(c.block))+w.most[i+1] <= threshold {
					continue
				}
				if err := c.decode(); err != nil {
					return 0, err
				}
				w.stats.Decoded += c.n
			}
			for c.place < c.n && c.passages[c.place] < passage {
				c.place++
			}
			if c.place < c.n && c.passages[c.place] == passage {
				rank, ok := c.rankAt(c.place)
				if !ok {
					return 0, c.damaged()
				}
				w.sums[at] = sum + c.weight*c.scale.ofRank[rank]
			}
		}
		w.candidates[kept] = at
		kept++
	}
	return kept, nil
}

// forget clears the sums.
func (w *scratch) forget() {
	for i, word := range w.touched {
		if word != 0 {
			clear(w.sums[64*i : 64*i+64])
			w.touched[i] = 0
		}
	}
}

// Matched is the number of passages that have a term of the question.
func (s *Searcher) Matched(ctx context.Context, question string) (int, error) {
	terms, err := s.understand(question)
	if err != nil || len(terms) == 0 {
		return 0, err
	}
	w := s.takeScratch()
	defer s.scratch.Put(w)
	w.stats = &SearchStats{}
	w.best.reset(1)
	w.best.threshold = float32(math.Inf(1))
	matched := 0
	for i, g := range s.segments {
		if err := w.openCursors(g, terms, i); err != nil {
			return 0, err
		}
		for from := uint32(0); from < g.Index.passages; from += window {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			for _, c := range w.cursors {
				if err := w.addTerm(c, from, min(from+window, g.Index.passages)); err != nil {
					w.forget()
					return 0, err
				}
			}
			for at, word := range w.touched {
				if at += int(from / 64); at < len(g.Deleted) {
					word &^= g.Deleted[at]
				}
				matched += bits.OnesCount64(word)
			}
			w.forget()
		}
	}
	return matched, nil
}
