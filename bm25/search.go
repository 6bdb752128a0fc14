package bm25

import (
	"context"
	"fmt"
	"math/bits"

	"conclave/rank"
)

const (
	// window is how many passages are scored together: their sums fit in the
	// first-level cache.
	window     = 1 << 12
	windowMask = window - 1

	// patience is how many windows pass between two looks at the context, unless
	// manyPostings are decoded before.
	patience     = 32
	manyPostings = 1 << 19
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
	defer s.giveBack(w)
	w.stats = &stats
	k = min(k, s.statistics.Passages)
	w.best.reset(k, none)
	var merged []rank.Hit
	for i, g := range s.segments {
		if err := w.openCursors(g, terms, i); err != nil {
			return nil, stats, err
		}
		if err := w.searchSegment(ctx, g); err != nil {
			return nil, stats, err
		}
		if s.ties != nil {
			merged = mergeHits(merged, w.best.sorted(), k, s.ties)
			w.best.reset(k, floor(merged, k))
		}
	}
	if s.ties != nil {
		return merged, stats, nil
	}
	return w.best.sorted(), stats, nil
}

// scratch is the memory of one search.
type scratch struct {
	best    best
	cursors []*cursor // one per term that the segment has, heaviest first
	spare   []*cursor
	most    []float64 // per cursor, and one 0 more: the most that it and those after it add to a passage of the window
	dense   []float64 // per cursor, and one 0 more: how many postings it and those after it have in an average window
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

// giveBack keeps the memory of a search for the next one, but not that of a
// question of hundreds of terms.
func (s *Searcher) giveBack(w *scratch) {
	if len(w.spare)+len(w.cursors) <= 256 {
		s.scratch.Put(w)
	}
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
		if len(w.spare) == 0 {
			w.spare = append(w.spare, &cursor{})
		}
		last := len(w.spare) - 1
		c := w.spare[last]
		w.spare, w.cursors = w.spare[:last], append(w.cursors, c)
		if err := c.reset(g.Index, g.scale, r, t.weight); err != nil {
			return err
		}
		w.stats.Postings += int(r.df)
	}
	n := len(w.cursors)
	w.most = append(w.most[:0], make([]float64, n+1)...)
	w.dense = append(w.dense[:0], make([]float64, n+1)...)
	for i := n - 1; i >= 0; i-- {
		w.dense[i] = w.dense[i+1] + float64(w.cursors[i].record.df)*window/float64(g.Index.passages)
	}
	return nil
}

// searchSegment offers the passages of one segment.
//
// It is MaxScore (Turtle and Flood, 1995) over windows of passages, with the
// bounds taken from the blocks that meet the window (Ding and Suel, 2011). In
// each window the heaviest terms, down to where the rest together can no longer
// reach the threshold, are added up term by term; the rest is looked up for the
// passages that can still make it, lightest last. Where so many passages have a
// heavy term that looking up would cost more than adding, all terms are added
// up. Terms are always added in the same order.
func (w *scratch) searchSegment(ctx context.Context, g *segment) error {
	n := len(w.cursors)
	passages := g.Index.passages
	looked := w.stats.Decoded // when the context was looked at
	for from := uint32(0); from < passages; from += window {
		if from/window%patience == patience-1 || w.stats.Decoded-looked > manyPostings {
			if looked = w.stats.Decoded; ctx.Err() != nil {
				return context.Cause(ctx)
			}
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
		// In nanoseconds, about: 12 for a look-up, 2.5 for an addition.
		heavy, light := w.dense[0]-w.dense[essential], w.dense[essential]
		var err error
		if heavy > sparse && 12*heavy*float64(n-essential) >= 2.5*light {
			err = w.addUp(g, from, to)
		} else {
			err = w.lookUp(g, from, to, essential)
		}
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

// addUp scores all passages of a window.
func (w *scratch) addUp(g *segment, from, to uint32) error {
	threshold := max(0, float64(w.best.threshold))
	for _, c := range w.cursors {
		if err := w.addTerm(c, from, to, threshold); err != nil {
			return err
		}
	}
	for i, word := range w.touched {
		for ; word != 0; word &= word - 1 {
			at := 64*i + bits.TrailingZeros64(word)
			w.offer(g, from+uint32(at), w.sums[at])
		}
	}
	clear(w.touched[:])
	clear(w.sums[:])
	return nil
}

// lookUp scores the passages of a window that have one of the essential terms.
func (w *scratch) lookUp(g *segment, from, to uint32, essential int) error {
	for _, c := range w.cursors[:essential] {
		if err := w.addTerm(c, from, to, 0); err != nil {
			return err
		}
	}
	n := w.gather(w.most[essential])
	for i := essential; i < len(w.cursors) && n > 0; i++ {
		var err error
		if n, err = w.addToCandidates(i, from, n); err != nil {
			return err
		}
	}
	for _, at := range w.candidates[:n] {
		w.offer(g, from+uint32(at), w.sums[at])
	}
	w.forget()
	return nil
}

// offer offers a passage of the segment.
func (w *scratch) offer(g *segment, passage uint32, sum float64) {
	if score := float32(sum); score > w.best.threshold && !g.isDeleted(passage) {
		w.best.offer(g.Base+rank.Ordinal(passage), score)
	}
}

// nextPostings moves the cursor, block by block, through its postings in a
// window; they are those of the decoded block from the cursor's place to end. It
// returns false behind the last.
func (w *scratch) nextPostings(c *cursor, from, to uint32) (end int, ok bool, err error) {
	for ; c.block < c.record.blocks; c.block, c.decoded = c.block+1, false {
		if !c.decoded {
			if err := c.decode(); err != nil {
				return 0, false, err
			}
			w.stats.Decoded += c.n
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

// addTerm adds a term's scores in the window to the sums, and touches the
// passages whose sum is then above the threshold. Sums only grow: in the end
// just those are touched whose sum is above it, without looking at all sums.
func (w *scratch) addTerm(c *cursor, from, to uint32, threshold float64) error {
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

// addToCandidates adds the scores of term i to the candidates, of which those
// that can no longer make it are dropped.
func (w *scratch) addToCandidates(i int, from uint32, n int) (int, error) {
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
				if sum+c.scale.bound(c.weight, c.highOf(c.block))+w.most[i+1] <= threshold {
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
				w.sums[at] = sum + c.scoreOf(rank)
			}
		}
		w.candidates[kept] = at
		kept++
	}
	return kept, nil
}

// forget clears the sums of passages that were touched.
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
	defer s.giveBack(w)
	w.stats = &SearchStats{}
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
				if err := w.addTerm(c, from, min(from+window, g.Index.passages), 0); err != nil {
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
