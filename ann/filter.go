package ann

import (
	"fmt"
	"math/bits"
	"sync"

	"example.org/conclave/internal/rank"
)

// Filter is the set of ordinals that a search may find, such as those that are not
// deleted. Once no more ordinals are added, any number of searches may use it at
// once.
type Filter struct {
	words []uint64
	count int

	mu   sync.Mutex
	rows map[*parts]*Filter // of these passages, once it was asked for
}

// NewFilter returns an empty set with room for ordinals below n.
func NewFilter(n int) *Filter { return &Filter{words: make([]uint64, (n+63)/64)} }

// FilterOf returns the set of the ordinals whose bits are set in words, ordinal 0 in the lowest bit of the first
// word. The set keeps words, which must not be changed.
func FilterOf(words []uint64) *Filter {
	f := &Filter{words: words}
	for _, w := range words {
		f.count += bits.OnesCount64(w)
	}
	return f
}

// Add adds an ordinal to the set, which grows if needed. No search may be using it.
func (f *Filter) Add(o rank.Ordinal) {
	for int(o/64) >= len(f.words) {
		f.words = append(f.words, 0)
	}
	if !f.Contains(o) {
		f.words[o/64] |= 1 << (o % 64)
		f.count++
	}
}

// Contains reports whether an ordinal is in the set; false beyond its end.
func (f *Filter) Contains(o rank.Ordinal) bool {
	return int(o/64) < len(f.words) && f.words[o/64]>>(o%64)&1 != 0
}

// Len returns the number of ordinals in the set.
func (f *Filter) Len() int { return f.count }

// appendOrdinals appends the ordinals of the set that are below n to out, ascending, and returns the result.
func (f *Filter) appendOrdinals(n int, out []uint32) []uint32 {
	for i, w := range f.words {
		for ; w != 0; w &= w - 1 {
			if o := 64*i + bits.TrailingZeros64(w); o < n {
				out = append(out, uint32(o))
			}
		}
	}
	return out
}

// rowsOf returns the set of the rows of p, the vectors of parts, that belong to the passages of the set. It is
// computed once for each p and kept; no ordinal may be added afterwards.
func (f *Filter) rowsOf(p *parts) *Filter {
	f.mu.Lock()
	defer f.mu.Unlock()
	if made := f.rows[p]; made != nil {
		return made
	}
	// The rows of those that are fewer are marked, which a few deletions are.
	words := make([]uint64, (p.rows+63)/64)
	few := f.count <= p.count/2
	for o := range rank.Ordinal(p.count) {
		if f.Contains(o) == few {
			first, end := p.rowsOf(o)
			for ; first < end; first++ {
				words[first/64] |= 1 << (first % 64)
			}
		}
	}
	if !few {
		for i := range words {
			words[i] = ^words[i]
		}
		if rest := p.rows % 64; rest != 0 {
			words[len(words)-1] &= 1<<rest - 1
		}
	}
	if f.rows == nil {
		f.rows = map[*parts]*Filter{}
	}
	f.rows[p] = FilterOf(words)
	return f.rows[p]
}

// checkOrdinals returns a *QueryError if the filter has an ordinal of n, rounded up to a multiple of 64, or more. A nil
// filter has none.
func (f *Filter) checkOrdinals(n int) error {
	if f == nil || len(f.words) <= (n+63)/64 {
		return nil
	}
	for i := (n + 63) / 64; i < len(f.words); i++ {
		if f.words[i] != 0 {
			return &QueryError{
				fmt.Sprintf(
					"the filter lets ordinal %d be found; the index has %d vectors",
					64*i+bits.TrailingZeros64(f.words[i]), n,
				),
			}
		}
	}
	return nil
}
