package ann

import (
	"fmt"
	"math/bits"

	"conclave/rank"
)

// Filter is the set of ordinals that a search may find: those with a tag, or
// those not deleted. It may be used by any number of searches at once, once
// no more is added.
type Filter struct {
	words []uint64
	count int
}

// NewFilter is an empty set with room for ordinals below n.
func NewFilter(n int) *Filter { return &Filter{words: make([]uint64, (n+63)/64)} }

// FilterOf is the set whose bits are given, ordinal 0 in the lowest bit of the
// first word. It keeps words.
func FilterOf(words []uint64) *Filter {
	f := &Filter{words: words}
	for _, w := range words {
		f.count += bits.OnesCount64(w)
	}
	return f
}

// Add puts an ordinal into the set. Room is made for it if there is none.
func (f *Filter) Add(o rank.Ordinal) {
	for int(o/64) >= len(f.words) {
		f.words = append(f.words, 0)
	}
	if !f.Contains(o) {
		f.words[o/64] |= 1 << (o % 64)
		f.count++
	}
}

// Contains reports whether an ordinal is in the set.
func (f *Filter) Contains(o rank.Ordinal) bool {
	return int(o/64) < len(f.words) && f.words[o/64]>>(o%64)&1 != 0
}

// Len is the number of ordinals in the set.
func (f *Filter) Len() int { return f.count }

// ordinals appends the set's members below n to out, in order.
func (f *Filter) ordinals(n int, out []uint32) []uint32 {
	for i, w := range f.words {
		for ; w != 0; w &= w - 1 {
			if o := 64*i + bits.TrailingZeros64(w); o < n {
				out = append(out, uint32(o))
			}
		}
	}
	return out
}

func (f *Filter) check(n int) error {
	if f == nil || len(f.words) <= (n+63)/64 {
		return nil
	}
	for i := (n + 63) / 64; i < len(f.words); i++ {
		if f.words[i] != 0 {
			return &QueryError{fmt.Sprintf("the filter lets ordinal %d be found; the index has %d vectors", 64*i+bits.TrailingZeros64(f.words[i]), n)}
		}
	}
	return nil
}
