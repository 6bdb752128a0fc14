package bm25

import (
	"cmp"
	"context"
	"fmt"

	"example.org/conclave/internal/rank"
)

// Search returns the k selected passages with the highest scores, the best first, and equal ones by the lower ordinal
// (but see OrderTies). A passage without a term of the question is no hit. The selection changes no score: statistics
// are those of all passages, so that fused scores stay comparable. It fails if k is below 1, the selection is of
// another number of segments, the index is damaged, or ctx ends.
func (s *Searcher) Search(ctx context.Context, question string, k int, among Selection) ([]rank.Hit, error) {
	hits, _, err := s.search(ctx, question, k, among)
	return hits, err
}

// searchStats says what a search cost.
type searchStats struct {
	terms    int // distinct terms of the question that some passage has
	postings int // of these terms, in all segments
	decoded  int // postings that were decoded
	windows  int // stretches of passages that were scored
	skipped  int // stretches that could not hold a hit
}

// search returns the k selected passages with the highest scores, as Search does, and what the search cost. It fails
// if k is below 1, the selection is of another number of segments, the index is damaged, or ctx ends.
func (s *Searcher) search(
	ctx context.Context,
	question string,
	k int,
	among Selection,
) ([]rank.Hit, searchStats, error) {
	var stats searchStats
	if among != nil && len(among) != len(s.segments) {
		return nil, stats, fmt.Errorf("the selection is of %d segments and there are %d", len(among), len(s.segments))
	}
	if k < 1 {
		return nil, stats, fmt.Errorf("k is %d: it must be at least 1", k)
	}
	if err := ctx.Err(); err != nil {
		return nil, stats, context.Cause(ctx)
	}
	u, err := s.understand(question)
	if err != nil || u.findsNothing() {
		return nil, stats, err
	}
	stats.terms = len(u.terms)
	w := s.takeScratch()
	w.stats = &stats
	hits, err := s.searchTerms(ctx, u, w, k, among)
	s.giveBack(w) // not after a panic, which leaves sums behind
	return hits, stats, err
}

// searchTerms returns the k best selected hits of all segments for an analysed question, the best first, and equal
// ones in the order of s.ties or by ordinal. w is memory for the search, with w.stats set. It fails if an index is
// damaged or ctx ends.
func (s *Searcher) searchTerms(
	ctx context.Context,
	u *understood,
	w *scratch,
	k int,
	among Selection,
) ([]rank.Hit, error) {
	k = min(k, s.statistics.passages)
	w.best.reset(k, none)
	var merged []rank.Hit
	var err error
	for i, g := range s.segments {
		if among != nil {
			w.among = among[i]
			if w.among != nil && len(w.among) == 0 {
				continue
			}
		}
		if err := cmp.Or(w.openCursors(g, u.terms, i), w.openOthers(g, u, i)); err != nil {
			return nil, err
		}
		if err := w.searchSegment(ctx, g); err != nil {
			return nil, err
		}
		if s.ties != nil {
			merged, err = mergeHits(merged, w.best.sorted(), k, s.ties)
			if err != nil {
				return nil, err
			}
			w.best.reset(k, floor(merged, k))
		}
	}
	if s.ties != nil {
		return merged, nil
	}
	return w.best.sorted(), nil
}

// scratch is the memory of one search.
type scratch struct {
	best    best
	cursors []*cursor // one per term that the segment has, heaviest first
	others  []otherCursors
	pool    []*cursor
	most    []float64 // per cursor, and one 0 more: the most that it and those after it add to a passage of the window
	dense   []float64 // per cursor, and one 0 more: how many postings it and those after it have in an average window
	among   []uint64  // the selected passages of the segment; nil is all
	stats   *searchStats

	sums       [window]float64
	touched    [window / 64]uint64 // passages of the window whose sums matter
	candidates [window]uint16

	forms  [window]float64     // of the variant at hand: the most that a form of it adds to a passage of the window
	formed [window / 64]uint64 // passages of the window that have one
	found  []formScore         // of the window, variant by variant
	more   [window]float64     // the most that other forms add to a passage of the window
}

// takeScratch returns memory for one search. Give it back with giveBack, but not after a panic.
func (s *Searcher) takeScratch() *scratch {
	if w, ok := s.scratch.Get().(*scratch); ok {
		return w
	}
	return &scratch{}
}

// giveBack keeps the memory of a search for the next one, and puts its cursors into its pool. It drops the memory if
// a question of hundreds of terms made it large. Do not call it after a panic.
func (s *Searcher) giveBack(w *scratch) {
	w.among = nil
	w.closeOthers()
	if len(w.pool)+len(w.cursors) <= 256 {
		s.scratch.Put(w)
	}
}

// takeCursor returns an unused cursor of the pool, or a new one.
func (w *scratch) takeCursor() *cursor {
	last := len(w.pool) - 1
	if last < 0 {
		return &cursor{}
	}
	c := w.pool[last]
	w.pool = w.pool[:last]
	return c
}

// openCursors fills w.cursors with a cursor, before the first posting, for each term that the segment has. at is the
// segment's index in questionTerm.records. It fills w.dense and sets w.most to zeros, which each window replaces. It
// fails if the postings are damaged.
func (w *scratch) openCursors(g *segment, terms []questionTerm, at int) error {
	w.pool = append(w.pool, w.cursors...)
	w.cursors = w.cursors[:0]
	for _, t := range terms {
		r := t.records[at]
		if r.df == 0 {
			continue
		}
		c := w.takeCursor()
		w.cursors = append(w.cursors, c)
		if err := c.reset(g.Index, g.scale, r, t.weight); err != nil {
			return err
		}
		w.stats.postings += int(r.df)
	}
	n := len(w.cursors)
	w.most = append(w.most[:0], make([]float64, n+1)...)
	w.dense = append(w.dense[:0], make([]float64, n+1)...)
	for i := n - 1; i >= 0; i-- {
		w.dense[i] = w.dense[i+1] + float64(w.cursors[i].record.df)*window/float64(g.Index.passages)
	}
	return nil
}
