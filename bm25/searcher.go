package bm25

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"example.org/conclave/internal/rank"
)

// A Segment is an index's place in a collection.
type Segment struct {
	Index *Index

	// Base is the ordinal of the segment's first passage in the collection.
	Base rank.Ordinal

	// Deleted marks passages of the segment that are gone: bit i%64 of word i/64
	// for its passage i. It may be shorter than the segment, or nil. It must not
	// change while a Searcher uses it.
	Deleted []uint64
}

// statistics are the numbers of the whole collection that the formula uses. Deleted
// passages do not count.
type statistics struct {
	passages  int     // all
	withTerms int     // those with at least one term: the formula's N
	terms     int     // in all of them, repetitions counted
	average   float32 // terms per passage that has any
}

// A Searcher searches segments as one collection: the statistics are exact over
// all passages that are not deleted, so that it does not matter how they were
// divided. It is safe for concurrent use, and cheap to make: a new state of a
// collection gets a new Searcher.
type Searcher struct {
	params     Params
	statistics statistics
	segments   []*segment
	ties       func(a, b rank.Ordinal) (int, error)
	phrases    bool      // a question is read as its phrases
	scratch    sync.Pool // of *scratch
	recent     recent
}

// segment is a Segment of a Searcher, with the strengths of its impacts under the statistics of
// the whole collection.
type segment struct {
	Segment
	scale *strengths

	// deadDF remembers, by a term's id, how many deleted passages have it.
	mutex  sync.RWMutex
	deadDF map[uint64]uint32
}

// NewSearcher returns a searcher of segments as one collection. It reads the lengths of deleted passages. It fails
// unless segments are in ascending order of their bases, do not overlap, and were built with the same parameters, or
// if an index is damaged. Without segments it finds nothing. The segments' indexes stay the caller's.
func NewSearcher(segments ...Segment) (*Searcher, error) {
	if len(segments) == 0 {
		return &Searcher{params: DefaultParams()}, nil
	}
	s := &Searcher{params: segments[0].Index.params}
	next := uint64(0)
	tokens := uint64(0)
	for i, given := range segments {
		x := given.Index
		if x.params != s.params {
			return nil, fmt.Errorf(
				"segment %d was built with %+v and segment 0 with %+v: build them alike", i, x.params, s.params,
			)
		}
		if uint64(given.Base) < next {
			return nil, fmt.Errorf("segment %d begins at ordinal %d and the one before ends at %d", i, given.Base, next)
		}
		next = uint64(given.Base) + uint64(x.passages)
		if next > 1<<32 {
			return nil, fmt.Errorf("segment %d ends at ordinal %d, beyond what an ordinal can say", i, next)
		}
		dead, err := countDeleted(given)
		if err != nil {
			return nil, err
		}
		s.statistics.passages += int(x.passages) - dead.passages
		s.statistics.withTerms += int(x.withTerms) - dead.withTerms
		tokens += x.tokens - uint64(dead.terms)
		s.segments = append(s.segments, &segment{Segment: given, deadDF: make(map[uint64]uint32)})
	}
	s.statistics.terms = int(tokens)
	s.statistics.average = averageLength(tokens, uint64(s.statistics.withTerms))
	for _, g := range s.segments {
		g.scale = newStrengths(g.Index, s.statistics.average)
	}
	return s, nil
}

// averageLength returns the mean number of terms of the passages that have any, rounded as Lucene does and at least
// 1. tokens is the number of all terms, repetitions counted, and withTerms that of passages with any.
func averageLength(tokens, withTerms uint64) float32 {
	if withTerms == 0 {
		return 1 // no passage has a length to compare with it
	}
	return max(1, float32(float64(tokens)/float64(withTerms)))
}

// countDeleted counts the deleted passages of a segment: how many there are, how many of them have a term, and how many
// terms those have in all. The average stays 0. It fails if an ordinal is beyond the last passage or the index is
// damaged.
func countDeleted(g Segment) (dead statistics, err error) {
	if len(g.Deleted) == 0 {
		return dead, nil
	}
	err = eachDeleted(g, func(passage uint32) error {
		b, err := g.Index.bytes(sectionLengths, 4*uint64(passage), 4)
		if err != nil {
			return err
		}
		dead.passages++
		if n := binary.LittleEndian.Uint32(b); n > 0 {
			dead.withTerms++
			dead.terms += int(n)
		}
		return nil
	})
	if err == nil && (uint64(dead.withTerms) > uint64(g.Index.withTerms) || uint64(dead.terms) > g.Index.tokens) {
		err = g.Index.damaged("the lengths of passages are more than their sum")
	}
	return dead, err
}

// eachDeleted calls visit with the deleted passages of a segment, ascending. It fails if one is beyond the last.
func eachDeleted(g Segment, visit func(passage uint32) error) error {
	for i, word := range g.Deleted {
		for ; word != 0; word &= word - 1 {
			passage := uint64(i)*64 + uint64(bits.TrailingZeros64(word))
			if passage >= uint64(g.Index.passages) {
				return fmt.Errorf("passage %d is marked as deleted and the segment has %d", passage, g.Index.passages)
			}
			if err := visit(uint32(passage)); err != nil {
				return err
			}
		}
	}
	return nil
}

// isDeleted reports whether a passage of the segment is marked as deleted.
func (g *segment) isDeleted(passage uint32) bool {
	word := int(passage / 64)
	return word < len(g.Deleted) && g.Deleted[word]&(1<<(passage%64)) != 0
}

// deleted returns how many deleted passages have a term. It counts once and remembers the result. It fails if the
// index is damaged.
func (g *segment) deleted(r termRecord) (uint32, error) {
	if len(g.Deleted) == 0 || r.df == 0 {
		return 0, nil
	}
	g.mutex.RLock()
	n, ok := g.deadDF[r.id]
	g.mutex.RUnlock()
	if ok {
		return n, nil
	}
	n, err := g.countDeletedWith(r)
	if err != nil {
		return 0, err
	}
	g.mutex.Lock()
	g.deadDF[r.id] = n
	g.mutex.Unlock()
	return n, nil
}

// countDeletedWith returns how many deleted passages of the segment have a term. It fails if the postings are
// damaged.
func (g *segment) countDeletedWith(r termRecord) (n uint32, err error) {
	c := &cursor{}
	if err := c.reset(g.Index, g.scale, r, 0); err != nil {
		return 0, err
	}
	for ; c.block < r.blocks; c.block++ {
		if err := c.decode(); err != nil {
			return 0, err
		}
		for _, passage := range c.passages[:c.n] {
			if g.isDeleted(passage) {
				n++
			}
		}
	}
	return n, nil
}

// locate returns the segment of an ordinal, and the passage's number there. It fails with errNoPassage if the passage
// is deleted or does not exist.
func (s *Searcher) locate(o rank.Ordinal) (g *segment, passage uint32, err error) {
	i, found := slices.BinarySearchFunc(s.segments, o, func(g *segment, o rank.Ordinal) int {
		switch {
		case o < g.Base:
			return 1
		case uint64(o) >= uint64(g.Base)+uint64(g.Index.passages):
			return -1
		}
		return 0
	})
	if !found {
		return nil, 0, fmt.Errorf("%w: ordinal %d", errNoPassage, o)
	}
	g = s.segments[i]
	passage = uint32(o - g.Base)
	if g.isDeleted(passage) {
		return nil, 0, fmt.Errorf("%w: ordinal %d was deleted", errNoPassage, o)
	}
	return g, passage, nil
}

// errNoPassage is the error for an ordinal that no segment has, or that was
// deleted.
var errNoPassage = errors.New("there is no such passage in the word index")
