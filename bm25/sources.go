package bm25

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
)

// A termIterator yields terms in the order of their bytes, and then phrases, each with
// its postings by ascending passage. It is called a source: the memory of a builder
// (builderSource), or a segment that is merged (indexSource).
type termIterator interface {
	// next moves to the next term; io.EOF after the last. The bytes are valid
	// until the next call.
	next() (term []byte, err error)
	// nextPhrase moves to the next phrase, after the last term; io.EOF after the
	// last. Its key ascends, and has the numbers that the source's terms have in
	// their order.
	nextPhrase() (key uint64, err error)
	// postings yields the postings of the term or phrase, once.
	postings(yield func(passage, tf uint32)) error
}

// mergeSorted calls visit with each key of n sorted lists once, and the indexes of the lists that have it. next
// returns the next key of list i, and io.EOF after the last; a key must stay valid until the next call for its list.
// It stops at the first error or when ctx ends. compare orders keys as cmp.Compare does.
func mergeSorted[K any](
	ctx context.Context,
	n int,
	next func(i int) (K, error),
	compare func(a, b K) int,
	visit func(key K, from []int) error,
) error {
	keys, ended := make([]K, n), make([]bool, n)
	advance := func(i int) (err error) {
		keys[i], err = next(i)
		if errors.Is(err, io.EOF) {
			ended[i], err = true, nil
		}
		return err
	}
	for i := range n {
		if err := advance(i); err != nil {
			return err
		}
	}
	from := make([]int, 0, n)
	for visited := 0; ; visited++ {
		if visited%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		from = from[:0]
		for i := range n { // a handful of lists: looking at each is as fast as a heap
			if ended[i] {
				continue
			}
			order := 0
			if len(from) > 0 {
				order = compare(keys[i], keys[from[0]])
			}
			if order < 0 {
				from = from[:0]
			}
			if order <= 0 {
				from = append(from, i)
			}
		}
		if len(from) == 0 {
			return nil
		}
		if err := visit(keys[from[0]], from); err != nil {
			return err
		}
		for _, i := range from {
			if err := advance(i); err != nil {
				return err
			}
		}
	}
}

// nextMerged moves source number at to its next phrase that the merged segment has, and returns the phrase's key there;
// io.EOF after the last. numbers has the number in the merged segment of each of the source's terms, or gone. It fails
// if a phrase of a term that is gone still has passages.
func nextMerged(s termIterator, at int, numbers []uint32) (uint64, error) {
	for {
		key, err := s.nextPhrase()
		if err != nil {
			return 0, err
		}
		first := key >> 32
		second := key & math.MaxUint32
		n := uint64(len(numbers))
		if first >= n || second >= n {
			return 0, fmt.Errorf("a phrase is of terms %d and %d, and there are %d", first, second, n)
		}
		if a, b := numbers[first], numbers[second]; a != gone && b != gone {
			return phraseKey(a, b), nil
		}
		left := 0
		if err := s.postings(func(_, _ uint32) { left++ }); err != nil {
			return 0, err
		}
		if left > 0 {
			return 0, fmt.Errorf(
				"segment %d has the phrase of terms %d and %d in %d passages that do not have both terms: the segment is damaged (restore it from a snapshot, or index its passages again)",
				at, first, second, left,
			)
		}
	}
}
