package bm25

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	denseTF     = 32
	denseLength = 2048
)

// impactCounts counts how many postings have each impact. Nearly all postings
// of passages have a small tf and length, and those are counted in a plain
// table.
type impactCounts struct {
	dense  []uint64 // [denseTF][denseLength]
	sparse map[impact]uint64
}

// add counts one more posting with impact i.
func (c *impactCounts) add(i impact) {
	if i.tf < denseTF && i.length < denseLength {
		if c.dense == nil {
			c.dense = make([]uint64, denseTF*denseLength)
		}
		c.dense[i.tf*denseLength+i.length]++
		return
	}
	if c.sparse == nil {
		c.sparse = make(map[impact]uint64)
	}
	c.sparse[i]++
}

// countedImpact is an impact and how many postings have it.
type countedImpact struct {
	impact
	count uint64
}

// ranked returns all impacts with their counts, the weakest first by Params.strength. An impact's index in the result
// is its rank, which postings store. average is the mean length of passages.
func (c *impactCounts) ranked(p Params, average float32) []countedImpact {
	var out []countedImpact
	for i, n := range c.dense {
		if n > 0 {
			out = append(out, countedImpact{impact{uint32(i / denseLength), uint32(i % denseLength)}, n})
		}
	}
	for i, n := range c.sparse {
		out = append(out, countedImpact{i, n})
	}
	slices.SortFunc(out, func(x, y countedImpact) int {
		return cmp.Or(
			cmp.Compare(p.strength(x.impact, average), p.strength(y.impact, average)), cmp.Compare(x.tf, y.tf),
			cmp.Compare(y.length, x.length),
		)
	})
	return out
}

// ranks finds the rank of an impact.
type ranks struct {
	dense  []uint32
	sparse map[impact]uint32
}

// newRanks returns a table from which rank gets the index of an impact in ranked.
func newRanks(ranked []countedImpact) *ranks {
	r := &ranks{dense: make([]uint32, denseTF*denseLength), sparse: make(map[impact]uint32)}
	for rank, c := range ranked {
		if c.tf < denseTF && c.length < denseLength {
			r.dense[c.tf*denseLength+c.length] = uint32(rank)
		} else {
			r.sparse[c.impact] = uint32(rank)
		}
	}
	return r
}

// rank returns the rank of an impact; 0 if it is not in the table.
func (r *ranks) rank(i impact) uint32 {
	if i.tf < denseTF && i.length < denseLength {
		return r.dense[i.tf*denseLength+i.length]
	}
	return r.sparse[i]
}

// commonest returns the ranks of the n most frequent impacts, or of all if there are fewer, in ascending order.
func commonest(ranked []countedImpact, n int) []uint32 {
	order := make([]uint32, len(ranked))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int {
		return cmp.Or(cmp.Compare(ranked[y].count, ranked[x].count), cmp.Compare(x, y))
	})
	order = order[:min(n, len(order))]
	slices.Sort(order)
	return order
}

// freeLengths is how many small lengths are kept exactly before Lucene's byte
// encoding turns to four significant bits.
const freeLengths = 24

// roundLength rounds a length to the nearest lower one that Lucene's norm byte
// can hold (SmallFloat.intToByte4): exact below 40, then four significant bits
// above an offset of 24.
func roundLength(n uint32) uint32 {
	if n < freeLengths {
		return n
	}
	rest := n - freeLengths
	if drop := bits.Len32(rest) - 4; drop > 0 {
		rest = rest >> drop << drop
	}
	return freeLengths + rest
}
