// Package rank has what every other package shares: the ordinal of a passage, a hit,
// the one ordering of hits, and a bounded top-k.
//
// It imports the standard library only, so that any package may use it.
package rank

import (
	"cmp"
	"math"
	"slices"
)

// Ordinal is the position of a passage in a collection: segment by segment, and
// inside a segment in the order of the passages' ids, so that ties by ordinal
// are ties by id. It is only meaningful inside one generation of one
// collection; users see passage ids.
type Ordinal uint32

// Span is bytes of a passage's text, which is UTF-8: from Begin up to End.
type Span struct{ Begin, End uint32 }

// NoVector is the score of a passage by an expert that has no vector of it: the greatest of no inner products. No hit
// has it.
var NoVector = float32(math.Inf(-1))

// Hit is one passage found by one source, with that source's own score.
// Higher scores are better; the unit is the source's (an inner product, a BM25
// sum) and is not comparable between sources.
type Hit struct {
	Ordinal Ordinal
	Score   float32
}

// Compare compares hits in the order best first: the higher score, then the lower ordinal. It is the only order of hits
// in conclave, so that equal scores never make two runs differ. The result is negative if a comes before b, 0 if they
// are equal.
func Compare(a, b Hit) int {
	switch {
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	}
	return cmp.Compare(a.Ordinal, b.Ordinal)
}

// Sort sorts hits best first, in place; of equal scores the lower ordinal comes first.
func Sort(hits []Hit) { slices.SortFunc(hits, Compare) }
