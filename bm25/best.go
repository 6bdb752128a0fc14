package bm25

import (
	"math"
	"slices"

	"conclave/rank"
)

// best keeps the k best of the hits offered to it, which must come in
// ascending order of their ordinals: then a hit that only equals the worst kept
// one ranks after it, and is turned away by one comparison.
//
// A hit is kept as one number that is larger for a better hit: the bits of its
// score, which for scores of at least 0 are in the order of the scores, and
// below them the complement of its ordinal. Hits gather in a buffer of twice k,
// and are halved by selection when it is full. That costs a few nanoseconds per
// hit, a tenth of what a heap costs; the threshold is a little lower than a
// heap's between two selections.
type best struct {
	k         int
	keys      []uint64
	threshold float32
}

func (b *best) reset(k int) {
	b.k = k
	b.keys = b.keys[:0]
	b.threshold = float32(math.Inf(-1))
}

// offer keeps a hit if it may be among the best.
func (b *best) offer(ordinal rank.Ordinal, score float32) {
	if score <= b.threshold {
		return
	}
	b.keys = append(b.keys, uint64(math.Float32bits(score))<<32|uint64(^ordinal))
	if n := len(b.keys); n == b.k || n == 2*b.k {
		b.trim()
	}
}

// trim drops all but the k best and raises the threshold.
func (b *best) trim() {
	if len(b.keys) < b.k {
		return
	}
	selectLargest(b.keys, b.k)
	b.keys = b.keys[:b.k]
	b.threshold = math.Float32frombits(uint32(b.keys[b.k-1] >> 32))
}

// sorted returns the best hits in order.
func (b *best) sorted() []rank.Hit {
	b.trim()
	slices.Sort(b.keys)
	out := make([]rank.Hit, len(b.keys))
	for i, key := range b.keys {
		out[len(out)-1-i] = rank.Hit{Ordinal: ^rank.Ordinal(key), Score: math.Float32frombits(uint32(key >> 32))}
	}
	return out
}

// selectLargest moves the k largest keys to the front, the least of them to
// place k − 1 (Hoare's selection, with the median of three as pivot). No two
// keys are equal.
func selectLargest(keys []uint64, k int) {
	low, high := 0, len(keys)-1
	for low < high {
		a, b, c := keys[low], keys[low+(high-low)/2], keys[high]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := low, high
		for i <= j {
			for keys[i] > pivot {
				i++
			}
			for keys[j] < pivot {
				j--
			}
			if i <= j {
				keys[i], keys[j] = keys[j], keys[i]
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
