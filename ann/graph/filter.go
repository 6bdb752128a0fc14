package graph

import (
	"context"
	"errors"
	"slices"
)

// ErrTooNarrow is returned by SearchFiltered when finding the allowed nodes
// through the graph has become more work than comparing all of them.
var ErrTooNarrow = errors.New("the filter leaves too few near vectors for the graph")

// SearchFiltered is Search for candidates whose ordinal's bit is set in
// allowed, of which there are count. Nodes that are not allowed lead on as any
// other, so that the graph stays connected; the search ends when the nearest
// node left is further than the ef allowed ones found.
func (g *Graph) SearchFiltered(ctx context.Context, s *Searcher, query []float32, ef int, allowed []uint64, count int, out []Candidate) ([]Candidate, error) {
	out = out[:0]
	if err := g.start(s, query); err != nil || g.nodes() == 0 {
		return out, err
	}
	at, err := g.descend(s, len(g.levels)-1, 1)
	if err != nil {
		return out, err
	}
	found, err := g.exploreFiltered(ctx, s, ef, at, allowed, count)
	if err != nil {
		return out, err
	}
	for _, e := range found {
		rows, err := g.rowsOf(e.node())
		if err != nil {
			return out, err
		}
		for _, row := range rows {
			if isAllowed(allowed, row) {
				out = append(out, Candidate{Ordinal: row, Score: e.score()})
			}
		}
	}
	return out, nil
}

func (g *Graph) exploreFiltered(ctx context.Context, s *Searcher, ef int, at entry, allowed []uint64, count int) ([]entry, error) {
	clear(s.visited)
	s.visited[at.node()/64] |= 1 << (at.node() % 64)
	// The pool is open-ended here: what bounds it is the worst of found.
	s.pool = append(s.pool[:0], at)
	found := make([]entry, 0, ef+g.width(0))
	if ok, err := g.anyAllowed(allowed, at.node()); err != nil {
		return nil, err
	} else if ok {
		found = append(found, at)
	}
	fresh := make([]entry, 0, g.width(0))
	for next := 0; next < len(s.pool); {
		e := s.pool[next]
		if e&expanded != 0 {
			next++
			continue
		}
		if len(found) == ef && e > found[ef-1] {
			break
		}
		if s.hops++; s.hops%contextEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if s.scored > count {
			return nil, ErrTooNarrow
		}
		s.pool[next] |= expanded
		next++
		n, err := g.unvisited(s, 0, e.node(), s.ids)
		if err != nil {
			return nil, err
		}
		g.kernels.CodeGather(s.query, g.codes, s.ids[:n], s.sums)
		s.scored += n
		met, hits := s.fresh[:0], fresh[:0]
		for i, id := range s.ids[:n] {
			e := pack(g.score(s, s.sums[i], id), id)
			if len(found) == ef && e >= found[ef-1] {
				continue
			}
			met = append(met, e)
			if ok, err := g.anyAllowed(allowed, id); err != nil {
				return nil, err
			} else if ok {
				hits = append(hits, e)
			}
		}
		sortFew(met)
		sortFew(hits)
		var place int
		s.pool, place = merge(slices.Grow(s.pool, len(met)), met, len(s.pool)+len(met))
		next = min(next, place)
		found, _ = merge(slices.Grow(found, len(hits)), hits, ef)
	}
	return found, nil
}

// anyAllowed reports whether a node stands for a row that may be found.
func (g *Graph) anyAllowed(allowed []uint64, node uint32) (bool, error) {
	rows, err := g.rowsOf(node)
	for _, row := range rows {
		if isAllowed(allowed, row) {
			return true, nil
		}
	}
	return false, err
}

func isAllowed(allowed []uint64, row uint32) bool {
	return int(row/64) < len(allowed) && contains(allowed, row)
}
