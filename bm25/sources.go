package bm25

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
)

// A source yields terms in the order of their bytes, and then phrases, each with
// its postings by ascending passage: what a builder has in memory, or a segment that
// is merged.
type source interface {
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

// mergeTerms visits every term of several sources once, with the sources that
// have it, in their order.
func mergeTerms(ctx context.Context, sources []source, visit func(term []byte, from []int) error) error {
	terms := make([][]byte, len(sources))
	advance := func(i int) (err error) {
		if terms[i], err = sources[i].next(); errors.Is(err, io.EOF) {
			terms[i], err = nil, nil
		}
		return err
	}
	for i := range sources {
		if err := advance(i); err != nil {
			return err
		}
	}
	var from []int
	var least []byte
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		least, from = least[:0], from[:0]
		for i, term := range terms {
			if term != nil && (len(from) == 0 || bytes.Compare(term, least) < 0) {
				least, from = append(least[:0], term...), append(from[:0], i)
			} else if term != nil && bytes.Equal(term, least) {
				from = append(from, i)
			}
		}
		if len(from) == 0 {
			return nil
		}
		if err := visit(least, from); err != nil {
			return err
		}
		for _, i := range from {
			if err := advance(i); err != nil {
				return err
			}
		}
	}
}

// mergePhrases visits every phrase of several sources once, with the sources
// that have it, in their order. For each source, numbers says what its terms'
// numbers are in the merged segment; gone for those that it does not have, of
// whose phrases no passage may be left.
func mergePhrases(ctx context.Context, sources []source, numbers [][]uint32, visit func(key uint64, from []source) error) error {
	const end = math.MaxUint64
	keys := make([]uint64, len(sources))
	advance := func(i int) error {
		for {
			key, err := sources[i].nextPhrase()
			if errors.Is(err, io.EOF) {
				keys[i] = end
				return nil
			} else if err != nil {
				return err
			}
			first, second, n := key>>32, key&math.MaxUint32, uint64(len(numbers[i]))
			if first >= n || second >= n {
				return fmt.Errorf("a phrase is of terms %d and %d, and there are %d", first, second, n)
			}
			if a, b := numbers[i][first], numbers[i][second]; a != gone && b != gone {
				keys[i] = phraseKey(a, b)
				return nil
			}
			left := 0
			if err := sources[i].postings(func(_, _ uint32) { left++ }); err != nil {
				return err
			}
			if left > 0 {
				return fmt.Errorf("segment %d has the phrase of terms %d and %d in %d passages that do not have both terms: the segment is damaged (restore it from a snapshot, or index its passages again)", i, first, second, left)
			}
		}
	}
	for i := range sources {
		if err := advance(i); err != nil {
			return err
		}
	}
	var from []source
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		least := uint64(end)
		for _, key := range keys {
			least = min(least, key)
		}
		if least == end {
			return nil
		}
		from = from[:0]
		for i, key := range keys {
			if key == least {
				from = append(from, sources[i])
			}
		}
		if err := visit(least, from); err != nil {
			return err
		}
		for i, key := range keys {
			if key == least {
				if err := advance(i); err != nil {
					return err
				}
			}
		}
	}
}
