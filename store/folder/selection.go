package folder

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"slices"
	"sort"
	"sync"

	"example.org/conclave/ann"
	"example.org/conclave/bm25"
	"example.org/conclave/internal/rank"
)

// Selection is the live passages of a generation that meet a Condition. It does not
// change, and may be used as long as its generation is pinned.
type Selection struct {
	generation *Generation
	segments   []segmentSelection
	count      int
}

// segmentSelection is the selected passages of one segment.
type segmentSelection struct {
	count  int
	words  []uint64    // as bm25.Selection has it; nil is all
	filter *ann.Filter // without the deleted; nil is all
}

// Len returns the number of selected passages.
func (s *Selection) Len() int { return s.count }

// Ordinals returns the selected passages, in ascending order. The generation must be pinned.
func (s *Selection) Ordinals() iter.Seq[rank.Ordinal] {
	return func(yield func(rank.Ordinal) bool) {
		for i, segment := range s.generation.segments {
			chosen := s.segments[i].filter
			for o := range rank.Ordinal(segment.store.Len()) {
				if (chosen == nil || chosen.Contains(o)) && !yield(segment.base+o) {
					return
				}
			}
		}
	}
}

// Contains reports whether a passage is selected. It panics for an ordinal that the generation does not have.
func (s *Selection) Contains(passage rank.Ordinal) bool {
	at := sort.Search(len(s.segments), func(i int) bool { return s.generation.segments[i].base > passage }) - 1
	chosen := s.segments[at].filter
	return chosen == nil || chosen.Contains(passage-s.generation.segments[at].base)
}

// selectAll returns the selection of all live passages.
func (g *Generation) selectAll() *Selection {
	s := &Selection{generation: g, segments: make([]segmentSelection, len(g.segments))}
	for i := range g.segments {
		s.segments[i] = g.wholeSegment(i)
		s.count += s.segments[i].count
	}
	return s
}

// wholeSegment returns all live passages of segment at.
func (g *Generation) wholeSegment(at int) segmentSelection {
	s := g.segments[at]
	out := segmentSelection{count: s.store.Len(), filter: s.live}
	if s.live != nil {
		out.count = s.live.Len()
	}
	return out
}

// Select returns the live passages that have every tag of tagsAll and at least one of tagsAny. An empty list sets no
// condition. A tag that no passage has selects none, without an error. Selections are cached in the generation.
func (g *Generation) Select(tagsAll, tagsAny []string) (*Selection, error) {
	return g.SelectWhere(Condition{TagsAll: tagsAll, TagsAny: tagsAny})
}

// SelectWhere returns the live passages that meet a condition; one that none meets selects none, without an error.
// The result is kept in the generation's cache and shared. It fails if a file is damaged.
func (g *Generation) SelectWhere(c Condition) (*Selection, error) {
	c = Condition{
		sortedSet(c.TagsAll), sortedSet(c.TagsAny), sortedSet(c.Documents), sortedSet(c.Must), sortedSet(c.MustNot), c.Hidden,
		c.Fields,
	}
	var hidden []string
	for _, h := range c.Hidden {
		hidden = append(hidden, fmt.Sprint(h.Member, " ", h.ID))
	}
	all := c.Fields.LetsAll()
	if all && len(c.TagsAll)+len(c.TagsAny)+len(c.Documents)+len(c.Must)+len(c.MustNot)+len(hidden) == 0 {
		return g.everything, nil
	}
	key := keyOf(c.TagsAll, c.TagsAny, c.Documents, c.Must, c.MustNot, sortedSet(hidden), c.Fields.Parts())
	if s := g.selections.find(key); s != nil {
		return s, nil
	}
	s := &Selection{generation: g, segments: make([]segmentSelection, len(g.segments))}
	for i, segment := range g.segments {
		words, count, err := segment.tags.Select(c.TagsAll, c.TagsAny)
		if err == nil && !all {
			count, err = g.filterFields(i, words, &c.Fields)
		}
		if err == nil && len(c.Documents) > 0 {
			count, err = g.filterDocuments(i, words, c.Documents)
		}
		if err == nil && len(hidden) > 0 {
			count, err = g.hide(i, words, c.Hidden)
		}
		if err == nil && len(c.Must)+len(c.MustNot) > 0 {
			count, err = g.filterWorded(i, words, c)
		}
		if err != nil {
			return nil, err
		}
		s.segments[i] = g.selectBits(i, words, count)
		s.count += s.segments[i].count
	}
	g.selections.keep(key, s)
	return s, nil
}

// keyOf returns a hash of lists of values as the key of a filter. Lists that differ in a value, an order or a
// division have different keys.
func keyOf(lists ...[]string) string {
	sum := sha256.New()
	var length [8]byte
	count := func(n int) {
		binary.LittleEndian.PutUint64(length[:], uint64(n))
		_, _ = sum.Write(length[:])
	}
	for _, tags := range lists {
		count(len(tags))
		for _, tag := range tags { // any byte may be in a tag
			count(len(tag))
			_, _ = io.WriteString(sum, tag)
		}
	}
	return string(sum.Sum(nil))
}

// selectBits returns the selection, in segment at, of the live passages whose bits are set in words. count is the
// number of bits that are set. It may keep words, and clears the bits of deleted passages in it.
func (g *Generation) selectBits(at int, words []uint64, count int) segmentSelection {
	s := g.segments[at]
	if count == s.store.Len() {
		return g.wholeSegment(at)
	}
	for i, dead := range s.dead {
		words[i] &^= dead
	}
	filter := ann.FilterOf(words)
	if filter.Len() == 0 {
		return segmentSelection{words: []uint64{}, filter: filter}
	}
	return segmentSelection{count: filter.Len(), words: words, filter: filter}
}

// sortedSet returns a sorted copy of the values without repetitions, so that equal filters have equal keys; nil if
// there are none.
func sortedSet(tags []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(tags)))
}

// segmentBits returns the selection as bm25 takes it: the bits of each segment, nil for all.
func (s *Selection) segmentBits() bm25.Selection {
	out := make(bm25.Selection, len(s.segments))
	for i := range s.segments {
		out[i] = s.segments[i].words
	}
	return out
}

// checkGeneration returns an error if the selection is of another generation, in which its ordinals mean other
// passages.
func (s *Selection) checkGeneration(g *Generation) error {
	if s.generation != g {
		return fmt.Errorf(
			"a selection of generation %d cannot be used in generation %d: select again", s.generation.Number(),
			g.Number(),
		)
	}
	return nil
}

// selections is a cache of selections by the key of their condition. The zero value
// is empty.
type selections struct {
	mu    sync.Mutex
	known map[string]*Selection
	bytes int
}

// The cache's bounds. A selection takes an eighth of a byte a passage, so about
// ten selections of 50 million passages fit.
const (
	maxSelections     = 64
	maxSelectionBytes = 64 << 20
)

// find returns the cached selection of a key; nil if there is none.
func (c *selections) find(key string) *Selection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[key]
}

// keep adds a selection to the cache, unless it is larger than all the cache may be. If the cache is full, it first
// forgets all others.
func (c *selections) keep(key string, s *Selection) {
	size := len(key)
	for i := range s.segments {
		if s.segments[i].words == nil {
			continue
		}
		size += 8 * len(s.segments[i].words)
		for _, ix := range s.generation.segments[i].vectors {
			if grouped, ok := ix.(*ann.GroupedIndex); ok { // a bit for each vector, once it was searched
				size += grouped.Rows() / 8
			}
		}
	}
	if size > maxSelectionBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[key] != nil {
		return // somebody else was faster
	}
	c.bytes += size
	if c.known == nil || len(c.known) == maxSelections || c.bytes > maxSelectionBytes {
		c.known = map[string]*Selection{}
		c.bytes = size
	}
	c.known[key] = s
}
