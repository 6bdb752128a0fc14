package graph

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"example.org/conclave/ann/kernel"
)

// contextEvery is how many hops a search makes between two checks of the context.
const contextEvery = 256

// Searcher is the memory of one search at a time. It may be used again, and
// for another graph, but not by two goroutines at once.
type Searcher struct {
	query   kernel.Query
	visited []uint64 // a bit per node

	pool     []entry   // the best nodes so far, best first
	frontier frontier  // of a filtered search
	fresh    []entry   // those found by one hop
	scores   []float32 // of the rows that Scan found, by their codes
	ids      []uint32
	sums     []int32
	scored   int
	hops     int
}

// RowScores returns the approximate scores of the rows that the last Scan found, in their order. They are valid until
// the next search.
func (s *Searcher) RowScores() []float32 { return s.scores }

// Scored returns how many vectors the last search compared.
func (s *Searcher) Scored() int { return s.scored }

// entry is a node with its score, packed so that ascending entries are in
// descending order of score, equal scores by node number. The lowest bit says
// that the node's neighbours have been looked at.
type entry uint64

const expanded = 1

// packEntry returns the entry of a node that is not expanded yet. node must be below 1<<31, and score must not be NaN.
func packEntry(score float32, node uint32) entry {
	b := math.Float32bits(score)
	// Flip negative numbers wholly and positive ones' sign: bits then ascend
	// with the number. Their complement descends.
	ascending := b ^ (uint32(int32(b)>>31) | 1<<31)
	return entry(uint64(^ascending)<<32 | uint64(node)<<1)
}

// node returns the number of the node.
func (e entry) node() uint32 { return uint32(e) >> 1 }

// score returns the score that packEntry was given.
func (e entry) score() float32 {
	ascending := ^uint32(e >> 32)
	return math.Float32frombits(ascending ^ (uint32(int32(^ascending)>>31) | 1<<31))
}

// errCorrupt is returned by searches in files whose content is damaged in a
// way that the header does not show.
var errCorrupt = errors.New(
	"the graph names a node or a vector that does not exist: its file is damaged; verify it and rebuild it",
)

// startQuery sizes the buffers for a query of the graph and sets the counters scored and hops to 0. It does not clear
// the visited nodes: each level's search does.
func (s *Searcher) startQuery(g *Graph) {
	words := (g.nodeCount() + 63) / 64
	if cap(s.visited) < words {
		s.visited = make([]uint64, words)
	}
	s.visited = s.visited[:words]
	if w := beam * g.listWidth(0); len(s.fresh) < w {
		s.ids, s.sums, s.fresh = make([]uint32, w), make([]int32, w), make([]entry, w)
	}
	s.scored, s.hops = 0, 0
}

// Search appends to out[:0] the rows of up to ef nodes, the best first, and returns it. Equal vectors are one node:
// their rows are in ascending order. If allowed is not nil, only rows whose bit is set are found. It fails for a query
// of another dimension, a damaged graph, and if ctx ends.
//
// With allowed, most is how many vectors may be compared: it returns ErrTooNarrow as soon as more are needed.
func (g *Graph) Search(
	ctx context.Context,
	s *Searcher,
	query []float32,
	ef int,
	allowed []uint64,
	most int,
	out []uint32,
) ([]uint32, error) {
	out = out[:0]
	if err := g.setQuery(s, query); err != nil || g.nodeCount() == 0 {
		return out, err
	}
	at, err := g.descendTo(s, len(g.levels)-1, 1)
	if err != nil {
		return out, err
	}
	if allowed == nil {
		err = g.exploreLevel(ctx, s, 0, ef, at)
	} else {
		err = g.exploreAllowed(ctx, s, ef, at, allowed, most)
	}
	if err != nil {
		return out, err
	}
	return g.appendRows(s, allowed, out)
}

// appendRows appends the rows of the nodes in s.pool to out, those alone whose bit is set in allowed unless that is
// nil, and sets s.scores. It returns errCorrupt for a node whose rows are damaged.
func (g *Graph) appendRows(s *Searcher, allowed []uint64, out []uint32) ([]uint32, error) {
	s.scores = s.scores[:0]
	for _, e := range s.pool {
		rows, err := g.rowsOf(e.node())
		if err != nil {
			return out, err
		}
		for _, row := range rows {
			if allowed == nil || isAllowed(allowed, row) {
				out = append(out, row)
				s.scores = append(s.scores, e.score())
			}
		}
	}
	return out, nil
}

// rowsOf returns the vectors that a node stands for, ascending and in place. It returns errCorrupt if the file names
// none for the node, or vectors that do not exist.
func (g *Graph) rowsOf(node uint32) ([]uint32, error) {
	rows := g.ordinals[node : node+1]
	if rows[0]&several != 0 {
		group := int(rows[0] &^ several)
		if group >= g.groupCount() {
			return nil, errCorrupt
		}
		low, high := g.groups[group], g.groups[group+1]
		if low >= high || int(high) > len(g.grouped) {
			return nil, errCorrupt
		}
		rows = g.grouped[low:high]
	}
	for _, row := range rows {
		if int(row) >= g.Rows() {
			return nil, errCorrupt
		}
	}
	return rows, nil
}

// setQuery makes a vector the query. It fails if the dimension is not the graph's.
func (g *Graph) setQuery(s *Searcher, query []float32) error {
	if len(query) != g.dim {
		return fmt.Errorf("the query has %d elements; the index holds vectors of %d", len(query), g.dim)
	}
	s.startQuery(g)
	s.query.Set(query)
	return nil
}

// score returns the approximate inner product of the query and a node's vector, for the sum of products of their codes.
func (g *Graph) score(s *Searcher, sum int32, node uint32) float32 {
	return s.query.Score(sum, g.scales[node])
}

// descendTo returns the node that a greedy walk from the entry node ends at, with its score: on each level it moves
// to the best neighbour until none is better, from level from down to level to. If to is above from, it returns the
// entry node. It returns errCorrupt for a damaged graph.
func (g *Graph) descendTo(s *Searcher, from, to int) (entry, error) {
	s.ids[0] = 0
	g.kernels.CodeGather(&s.query, g.codes, s.ids[:1], s.sums)
	s.scored++
	best := packEntry(g.score(s, s.sums[0], 0), 0)
	for level := from; level >= to; level-- {
		for moved := true; moved; {
			moved = false
			n := 0
			for ; n < g.listWidth(level); n++ {
				id := g.neighbour(level, best.node(), n)
				if id == g.none {
					break
				}
				if int(id) >= g.levels[level] {
					return 0, errCorrupt
				}
				s.ids[n] = id
			}
			g.kernels.CodeGather(&s.query, g.codes, s.ids[:n], s.sums)
			s.scored += n
			s.hops++
			for i, id := range s.ids[:n] {
				if e := packEntry(g.score(s, s.sums[i], id), id); e < best {
					best, moved = e, true
				}
			}
		}
	}
	return best, nil
}

// beam is how many nodes are expanded at once. With one, the processor waits for each
// list of neighbours and again for their codes. With four, the waits overlap, and one
// merge is cheaper than four. Nearly all nodes that are expanded early would be expanded
// in the end, so few comparisons are wasted (1 % more vectors for ef 200).
const beam = 4

// exploreLevel searches one level best first from some nodes (Malkov and Yashunin, algorithm 2) and leaves the ef
// best in s.pool, the best first. It returns errCorrupt for a damaged graph, and ctx's error if that ends.
//
// One sorted list serves as both of the algorithm's queues: the candidates are its entries that are not expanded. The
// new nodes of a beam are sorted and merged into it at once.
func (g *Graph) exploreLevel(ctx context.Context, s *Searcher, level, ef int, from ...entry) error {
	clear(s.visited)
	s.pool = append(slices.Grow(s.pool[:0], ef+beam*g.listWidth(0)), from...)
	for _, e := range from {
		s.visited[e.node()/64] |= 1 << (e.node() % 64)
	}
	slices.Sort(s.pool)
	s.pool = s.pool[:min(len(s.pool), ef)]
	for next := 0; next < len(s.pool); {
		n := 0
		for taken := 0; taken < beam && next < len(s.pool); next++ {
			if s.pool[next]&expanded != 0 {
				continue
			}
			if s.hops++; s.hops%contextEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			s.pool[next] |= expanded
			taken++
			m, err := g.takeUnvisited(s, level, s.pool[next].node(), s.ids[n:])
			if err != nil {
				return err
			}
			n += m
		}
		g.prefetchLists(s.pool[next:], level)
		g.kernels.CodeGather(&s.query, g.codes, s.ids[:n], s.sums)
		s.scored += n

		worst := ^entry(0)
		if len(s.pool) == ef {
			worst = s.pool[ef-1]
		}
		m := 0
		for i, id := range s.ids[:n] {
			e := packEntry(g.score(s, s.sums[i], id), id)
			s.fresh[m] = e
			if e < worst {
				m++
			}
		}
		if m > 0 {
			sortFew(s.fresh[:m])
			var place int
			s.pool, place = mergeEntries(s.pool, s.fresh[:m], ef)
			next = min(next, place)
		}
	}
	return nil
}

// prefetchLists tells the processor to load the lists of the first beam nodes in pool that are not expanded. level is
// that of these lists.
func (g *Graph) prefetchLists(pool []entry, level int) {
	links := g.links[level]
	size := g.listWidth(level) * g.idBytes
	asked := 0
	for _, e := range pool {
		if e&expanded == 0 {
			kernel.Prefetch(links[int(e.node())*size:])
			if asked++; asked == beam {
				return
			}
		}
	}
}

// takeUnvisited writes the neighbours of a node that the search has not met to ids, marks them as met, and returns how
// many there are. ids needs room for a whole list. It returns errCorrupt for a neighbour that is not on the level.
func (g *Graph) takeUnvisited(s *Searcher, level int, node uint32, ids []uint32) (int, error) {
	count := uint32(g.levels[level])
	none := g.none
	size := g.listWidth(level) * g.idBytes
	list := g.links[level][int(node)*size:][:size+4-g.idBytes]
	first := unsafe.Pointer(unsafe.SliceData(list))
	n := 0
	for at := 0; at < size; at += g.idBytes {
		id := *(*uint32)(unsafe.Add(first, at)) & none // without a check of bounds for each
		if id >= count {
			if id == none {
				break
			}
			return 0, errCorrupt
		}
		word := &s.visited[id/64]
		bit := uint64(1) << (id % 64)
		ids[n] = id
		if *word&bit == 0 { // a conditional move, since a branch could not be predicted
			n++
		}
		*word |= bit
	}
	return n, nil
}

// sortFew sorts entries in place, the best first, by insertion: for a few entries, or nearly sorted ones.
func sortFew(list []entry) {
	for i := 1; i < len(list); i++ {
		e := list[i]
		j := i
		for ; j > 0 && list[j-1] > e; j-- {
			list[j] = list[j-1]
		}
		list[j] = e
	}
}

// mergeEntries merges the sorted new entries of fresh into a sorted list, cuts it to the best limit, and returns it
// and the index of the best new entry, which may be beyond the cut. The list needs capacity for all and is changed in
// place.
func mergeEntries(list, fresh []entry, limit int) ([]entry, int) {
	end := len(list)
	list = list[:end+len(fresh)]
	to := len(list)
	for i := len(fresh) - 1; i >= 0; i-- {
		// Where the entry belongs among those that are left.
		low, high := 0, end
		for low < high {
			mid := int(uint(low+high) >> 1)
			if list[mid] < fresh[i] {
				low = mid + 1
			} else {
				high = mid
			}
		}
		copy(list[low+i+1:to], list[low:end])
		to = low + i
		list[to] = fresh[i]
		end = low
	}
	return list[:min(len(list), limit)], to
}

// hasBit reports whether bit i is set. It panics beyond the last word.
func hasBit(words []uint64, i uint32) bool {
	return words[i/64]>>(i%64)&1 != 0
}
