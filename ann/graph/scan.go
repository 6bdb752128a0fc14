package graph

import (
	"context"
	"math"
	"slices"
)

// Scan appends to out[:0] the rows of the ef nodes with the best codes among all that have a row whose bit is set in
// allowed, the best first, and returns it. Of these nodes only such rows are appended. It compares all of them, in the
// graph's order, so that codes are read one after the other. It fails for a query of another dimension, a damaged
// graph, and if ctx ends.
func (g *Graph) Scan(
	ctx context.Context,
	s *Searcher,
	query []float32,
	ef int,
	allowed []uint64,
	out []uint32,
) ([]uint32, error) {
	out = out[:0]
	if err := g.setQuery(s, query); err != nil {
		return out, err
	}
	s.pool = s.pool[:0]
	s.ids = slices.Grow(s.ids[:0], scanNodes)[:max(len(s.ids), scanNodes)]
	s.sums = slices.Grow(s.sums[:0], scanNodes)[:max(len(s.sums), scanNodes)]
	worst := entry(math.MaxUint64)
	for from := 0; from < g.nodeCount(); {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		to := min(g.nodeCount(), from+scanNodes)
		ids, err := g.appendAllowed(s.ids[:0], from, to, allowed)
		if err != nil {
			return out, err
		}
		worst = g.offerCodes(s, ids, ef, worst)
		from = to
	}
	keepBest(s, ef)
	return g.appendRows(s, allowed, out)
}

// scanNodes is how many nodes Scan looks at between two checks of the context.
const scanNodes = 4096

// appendAllowed writes to ids, which needs room for all of them, the nodes from up to, but not including, to that have
// a row whose bit is set in allowed, and returns them. It fails for a node whose rows are damaged.
func (g *Graph) appendAllowed(ids []uint32, from, to int, allowed []uint64) ([]uint32, error) {
	ids = ids[:to-from]
	n := 0
	for i, row := range g.ordinals[from:to] {
		node := uint32(from + i)
		ids[n] = node
		if at := int(row / 64); at < len(allowed) {
			n += int(allowed[at] >> (row % 64) & 1) // without a branch, which could not be predicted
			continue
		}
		ok, err := g.anyAllowed(allowed, node) // one of several rows, or beyond the set
		if err != nil {
			return nil, err
		}
		if ok {
			n++
		}
	}
	return ids[:n], nil
}

// offerCodes compares the nodes ids with the query and adds those that are better than worst to s.pool, which it cuts
// to the best ef when it has twice as many. It returns the worst of the ef best: nodes that are no better need not be
// added.
func (g *Graph) offerCodes(s *Searcher, ids []uint32, ef int, worst entry) entry {
	g.kernels.CodeGather(&s.query, g.codes, ids, s.sums)
	s.scored += len(ids)
	for i, id := range ids {
		if e := packEntry(g.score(s, s.sums[i], id), id); e < worst {
			s.pool = append(s.pool, e)
		}
	}
	if len(s.pool) < 2*ef {
		return worst
	}
	keepBest(s, ef)
	return s.pool[ef-1]
}

// keepBest sorts s.pool, the best first, and cuts it to ef nodes.
func keepBest(s *Searcher, ef int) {
	slices.Sort(s.pool)
	s.pool = s.pool[:min(len(s.pool), ef)]
}
