package folder

import (
	"cmp"
	"slices"
	"sync"

	"example.org/conclave/internal/spelling"
	"example.org/conclave/store/folder/internal/manifest"
)

const spellingName = "spelling"

// segmentLexicon are the words of a segment as its passages have them, read when they are first
// needed.
type segmentLexicon struct {
	once    sync.Once
	read    func() (*spelling.Lexicon, error)
	lexicon *spelling.Lexicon
	err     error
}

// words returns the segment's words, which the first call reads. It always returns the first call's error.
func (s *segmentLexicon) words() (*spelling.Lexicon, error) {
	s.once.Do(func() { s.lexicon, s.err = s.read() })
	return s.lexicon, s.err
}

// Close does nothing: no file is open. The error is always nil.
func (s *segmentLexicon) Close() error { return nil }

// spelledWords returns the words of a segment; their file is read when they are first needed. It fails if the file is
// missing or has another size.
func (o *opening) spelledWords(s *manifest.Segment) (*segmentLexicon, error) {
	return openFile(o, func(path string) (*segmentLexicon, error) {
		return &segmentLexicon{read: func() (*spelling.Lexicon, error) { return spelling.Read(o.disk, path) }}, nil
	}, s.Spelling)
}

// Near returns the words of the collection that are 1 to most edits from a word in lower case, the most frequent
// first, and equally frequent ones in alphabetical order. Counts are of passages, deleted ones included until their
// segment is merged. Words of deleted passages alone are left out. The first call reads the words of each segment. It
// fails if a file is damaged.
func (g *Generation) Near(word string, most int) ([]spelling.Candidate, error) {
	return g.spelled(func(x *spelling.Lexicon, found []spelling.Candidate) []spelling.Candidate {
		return x.Near(found, word, most)
	})
}

// Beginning returns the words of the collection that begin with prefix, in lower case, and are longer: the most
// frequent ones, at most so many (most), and equally frequent ones in alphabetical order. Counts are as Near's. It
// fails if a file is damaged.
func (g *Generation) Beginning(prefix string, most int) ([]spelling.Candidate, error) {
	out, err := g.spelled(func(x *spelling.Lexicon, found []spelling.Candidate) []spelling.Candidate {
		return x.Beginning(found, prefix, most)
	})
	return out[:min(most, len(out))], err
}

// spelled returns the words that find appends for the words of each segment, the most frequent first: each once, with
// the sum of its counts, and without those of deleted passages alone. It fails if a file is damaged.
func (g *Generation) spelled(
	find func(x *spelling.Lexicon, found []spelling.Candidate) []spelling.Candidate,
) ([]spelling.Candidate, error) {
	var found []spelling.Candidate
	for _, s := range g.segments {
		x, err := s.spelled.words()
		if err != nil {
			return nil, err
		}
		found = find(x, found)
	}
	slices.SortFunc(found, func(a, b spelling.Candidate) int { return cmp.Compare(a.Word, b.Word) })
	out := found[:0]
	for _, c := range found {
		if n := len(out); n > 0 && out[n-1].Word == c.Word {
			out[n-1].Count += c.Count
		} else {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b spelling.Candidate) int { return cmp.Compare(b.Count, a.Count) })
	if !slices.ContainsFunc(g.segments, func(s *segment) bool { return s.live != nil }) {
		return out, nil
	}
	var failed error
	return slices.DeleteFunc(out, func(c spelling.Candidate) bool {
		n, term, err := g.words.Frequency(c.Word)
		if err != nil {
			failed = err
		}
		return term && n == 0
	}), failed
}

// Frequency returns how many passages have a word, in any form with the same term. term is false for a stop word,
// which has none. It fails if an index is damaged.
func (g *Generation) Frequency(word string) (passages int, term bool, err error) {
	return g.words.Frequency(word)
}

// AdjacentShares returns how often a word stands between before and after: see bm25.Searcher.AdjacentShares. It fails
// if an index is damaged.
func (g *Generation) AdjacentShares(before, word, after string) (left, right float64, err error) {
	return g.words.AdjacentShares(before, word, after)
}
