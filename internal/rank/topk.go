package rank

import (
	"math"
	"slices"
)

// TopK keeps the best k of the hits pushed to it, in O(log k) per kept hit.
// The zero value keeps nothing; call Reset first. A TopK is not safe for
// concurrent use.
//
// Its heap has the worst kept hit at the root, so that a candidate that does
// not make the list is turned away by one comparison.
type TopK struct {
	k    int
	heap []Hit
}

// NewTopK returns a TopK that keeps the best k hits.
func NewTopK(k int) *TopK {
	t := &TopK{}
	t.Reset(k)
	return t
}

// Reset removes all hits and sets how many are kept, 0 if k is negative; it reuses memory.
func (t *TopK) Reset(k int) {
	t.k = max(k, 0)
	t.heap = t.heap[:0]
}

// Threshold returns the score that a new hit must reach to be kept: minus infinity until k hits are kept, and if k
// is 0. A hit that equals it is kept only when its ordinal is lower than the worst kept one's.
func (t *TopK) Threshold() float32 {
	if len(t.heap) < t.k || t.k == 0 {
		return float32(math.Inf(-1))
	}
	return t.heap[0].Score
}

// Push offers a hit and reports whether it is kept now; a later one may replace it.
func (t *TopK) Push(h Hit) bool {
	if len(t.heap) < t.k {
		t.heap = append(t.heap, h)
		t.siftUp(len(t.heap) - 1)
		return true
	}
	if t.k == 0 || Compare(h, t.heap[0]) >= 0 {
		return false
	}
	t.heap[0] = h
	t.siftDown(0)
	return true
}

// Sorted returns the kept hits best first, in a new slice.
func (t *TopK) Sorted() []Hit {
	out := slices.Clone(t.heap)
	Sort(out)
	return out
}

// siftUp moves the hit at index i up in the heap to its place.
func (t *TopK) siftUp(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if Compare(t.heap[parent], t.heap[i]) >= 0 {
			return
		}
		t.heap[parent], t.heap[i] = t.heap[i], t.heap[parent]
		i = parent
	}
}

// siftDown moves the hit at index i down in the heap to its place.
func (t *TopK) siftDown(i int) {
	for {
		worst := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(t.heap) && Compare(t.heap[worst], t.heap[child]) < 0 {
				worst = child
			}
		}
		if worst == i {
			return
		}
		t.heap[i], t.heap[worst] = t.heap[worst], t.heap[i]
		i = worst
	}
}
