package bm25

import (
	"math"

	"conclave/rank"
)

// best keeps the k best of the hits offered to it, which must come in
// ascending order of their ordinals: then a hit that only equals the worst kept
// one ranks after it, and is turned away by one comparison.
//
// Hits gather in a buffer of twice k, and are halved by selection when it is
// full. That costs a few nanoseconds per hit, a tenth of what a heap costs, and
// the threshold is a little lower than a heap's between two selections.
type best struct {
	k         int
	hits      []rank.Hit
	threshold float32
}

func (b *best) reset(k int) {
	b.k = k
	b.hits = b.hits[:0]
	b.threshold = float32(math.Inf(-1))
}

// offer keeps a hit if it may be among the best.
func (b *best) offer(h rank.Hit) {
	if h.Score <= b.threshold {
		return
	}
	b.hits = append(b.hits, h)
	if n := len(b.hits); n == b.k || n == 2*b.k {
		b.trim()
	}
}

// trim drops all but the k best and raises the threshold.
func (b *best) trim() {
	if len(b.hits) < b.k {
		return
	}
	selectBest(b.hits, b.k)
	b.hits = b.hits[:b.k]
	b.threshold = b.hits[b.k-1].Score
}

// sorted returns the best hits in order, in a new slice.
func (b *best) sorted() []rank.Hit {
	b.trim()
	out := append([]rank.Hit(nil), b.hits...)
	rank.Sort(out)
	return out
}

// selectBest moves the k best hits to the front, the worst of them to place
// k − 1 (Hoare's selection, with the median of three as pivot). Hits differ in
// their ordinals, so no two are equal.
func selectBest(hits []rank.Hit, k int) {
	low, high := 0, len(hits)-1
	for low < high {
		middle := low + (high-low)/2
		if rank.Before(hits[middle], hits[low]) {
			hits[middle], hits[low] = hits[low], hits[middle]
		}
		if rank.Before(hits[high], hits[low]) {
			hits[high], hits[low] = hits[low], hits[high]
		}
		if rank.Before(hits[high], hits[middle]) {
			hits[high], hits[middle] = hits[middle], hits[high]
		}
		pivot := hits[middle]
		i, j := low, high
		for i <= j {
			for rank.Before(hits[i], pivot) {
				i++
			}
			for rank.Before(pivot, hits[j]) {
				j--
			}
			if i <= j {
				hits[i], hits[j] = hits[j], hits[i]
				i++
				j--
			}
		}
		switch {
		case k-1 <= j:
			high = j
		case k-1 >= i:
			low = i
		default:
			return
		}
	}
}
