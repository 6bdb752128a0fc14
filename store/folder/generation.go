package folder

import (
	"errors"
	"fmt"
	"sort"
	"sync/atomic"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store/folder/internal/manifest"
)

// Generation is one state of a collection. It does not change, and its methods
// are safe for concurrent use, from Acquire to Release. Ordinals number the
// passages of all segments, those of the first segment first; they mean nothing
// in another generation.
type Generation struct {
	dir      string
	manifest *manifest.Manifest
	segments []*segment
	words    *bm25.Searcher
	phrases  *bm25.Searcher // the same, read as phrases; nil without them
	total    int

	everything *Selection
	selections selections
	drawn      drawn

	files *sharedFiles
	keys  []string // what it uses of files
	// Of one that was joined (Join):
	members []*Generation
	ends    []rank.Ordinal // of each, one more than its last passage
	pins    atomic.Int64
}

// openGeneration opens the files that a manifest names; opened says whether all, or which only. The generation is
// pinned once; the caller releases it. With everything, it returns an ErrOtherAnalyser fault if the words were analysed
// differently than this program does. If a file cannot be opened, it closes those that it has opened. It then returns
// the error of opening.
func openGeneration(files *sharedFiles, dir string, m *manifest.Manifest, opened parts) (*Generation, error) {
	g := &Generation{dir: dir, manifest: m, files: files}
	g.pins.Store(1)
	if opened == everything {
		if err := checkAnalyser(m, dir); err != nil {
			return nil, err
		}
	}
	var words []bm25.Segment
	for i := range m.Segments {
		s, keys, err := openSegment(files, dir, m, &m.Segments[i], opened)
		g.keys = append(g.keys, keys...)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("opening segment %s of %s: %w", m.Segments[i].Name, dir, err), g.close())
		}
		s.base = rank.Ordinal(g.total)
		g.total += m.Segments[i].Passages
		g.segments = append(g.segments, s)
		words = append(words, bm25.Segment{Index: s.words, Base: s.base, Deleted: s.dead})
	}
	if opened == wordless {
		return g, nil
	}
	var err error
	g.words, err = bm25.NewSearcher(words...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the words of %s: %w", dir, err), g.close())
	}
	g.words.OrderTies(g.compareIDs)
	g.phrases = g.words.Phrases()
	if g.phrases == nil && m.Words.Phrases {
		g.phrases = g.words // there is no segment, and so neither finds anything
	}
	g.everything = g.selectAll()
	return g, nil
}

// pin adds a pin and returns true. It returns false if the generation is closed already.
func (g *Generation) pin() bool {
	for {
		n := g.pins.Load()
		if n == 0 {
			return false
		}
		if g.pins.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Pin adds a pin, to be released with Release. The caller must hold one.
func (g *Generation) Pin() { g.pin() }

// Release removes a pin, of Acquire or Pin. The last one closes the generation. It panics if there is none left.
func (g *Generation) Release() { g.drop() }

// drop removes a pin. The last one closes the generation; it panics if there is none left.
func (g *Generation) drop() {
	switch n := g.pins.Add(-1); {
	case n == 0:
		// Unmapping what was mapped fails for no reason that a caller could
		// mend.
		_ = g.close()
	case n < 0:
		panic("collection: Release was called more often than Acquire")
	}
}

// close closes the files that no other generation uses, or releases the members of a joined generation. It returns
// the errors of closing.
func (g *Generation) close() error {
	if g.members != nil {
		for _, member := range g.members {
			member.Release()
		}
		return nil
	}
	keys := g.keys
	g.keys = nil
	return g.files.drop(keys)
}

// Number returns the generation's number, from 1; of a joined one the sum of its members'.
func (g *Generation) Number() uint64 { return g.manifest.Generation }

// Len returns the number of live passages.
func (g *Generation) Len() int { return g.manifest.Live() }

// Ordinals returns the number of passages with the deleted ones. Every ordinal is below it.
func (g *Generation) Ordinals() int { return g.total }

// Segments returns the number of segments.
func (g *Generation) Segments() int { return len(g.segments) }

// Passage reads a passage, which stays valid after Release. It fails if the passage is deleted, there is none of this
// ordinal, or the file is damaged.
func (g *Generation) Passage(ordinal rank.Ordinal) (corpus.Passage, error) {
	if g.Deleted(ordinal) {
		return corpus.Passage{}, fmt.Errorf("passage number %d is deleted", ordinal)
	}
	return g.Stored(ordinal)
}

// Deleted reports whether a passage was deleted. It is false for an ordinal beyond the last.
func (g *Generation) Deleted(ordinal rank.Ordinal) bool {
	s, o, err := g.locate(ordinal)
	return err == nil && s.dead.Has(o)
}

// Stored reads a passage, also a deleted one: it keeps its ordinal until its segment is merged. It fails if there is
// none of this ordinal or the file is damaged.
func (g *Generation) Stored(ordinal rank.Ordinal) (corpus.Passage, error) {
	s, o, err := g.locate(ordinal)
	if err != nil {
		return corpus.Passage{}, err
	}
	return s.store.Passage(o)
}

// Size returns how many bytes a passage takes uncompressed, deleted or not, without reading it. It fails for an
// ordinal beyond the last.
func (g *Generation) Size(ordinal rank.Ordinal) (int, error) {
	s, o, err := g.locate(ordinal)
	if err != nil {
		return 0, err
	}
	return s.store.Size(o)
}

// ID reads the id of a passage, deleted or not. It fails for an ordinal beyond the last.
func (g *Generation) ID(ordinal rank.Ordinal) (string, error) {
	s, o, err := g.locate(ordinal)
	if err != nil {
		return "", err
	}
	return s.store.ID(o)
}

// locate returns the segment of a passage and its ordinal in that segment. It fails if the ordinal is beyond the last.
func (g *Generation) locate(ordinal rank.Ordinal) (*segment, rank.Ordinal, error) {
	if int64(ordinal) >= int64(g.total) {
		return nil, 0, fmt.Errorf("there is no passage number %d among %d", ordinal, g.total)
	}
	s := g.segmentOf(ordinal)
	return s, ordinal - s.base, nil
}

// Ordinal returns the ordinal of the passage with this id; false if there is none or it is deleted. It fails if a file
// is damaged.
func (g *Generation) Ordinal(id string) (rank.Ordinal, bool, error) {
	at, ordinal, ok, err := g.find(id)
	if err != nil || !ok {
		return 0, false, err
	}
	return g.segments[at].base + ordinal, true, nil
}

// find returns the index of the segment that has the live passage with this id, and the passage's ordinal in it; ok
// is false if there is none. It fails if a file is damaged.
func (g *Generation) find(id string) (at int, ordinal rank.Ordinal, ok bool, err error) {
	// Newest first: what is asked for by id was often just written.
	for at = len(g.segments) - 1; at >= 0; at-- {
		s := g.segments[at]
		ordinal, ok, err = s.store.Ordinal(id)
		if err != nil {
			return 0, 0, false, err
		}
		if ok && !s.dead.Has(ordinal) {
			return at, ordinal, true, nil
		}
	}
	return 0, 0, false, nil
}

// segmentOf returns the segment of an ordinal, which must be below the total.
func (g *Generation) segmentOf(ordinal rank.Ordinal) *segment {
	i := sort.Search(len(g.segments), func(i int) bool { return g.segments[i].base > ordinal })
	return g.segments[i-1]
}
