package folder

import (
	"cmp"
	"path/filepath"
	"slices"
	"sync"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/internal/spelling"
)

const spellingName = "spelling"

// mostSampled is how many passages of a segment without a file of its words are read for
// them: more would keep the first question that has an unknown word waiting.
const mostSampled = 100_000

// spelled are the words of a segment as its passages have them, read when they are first
// needed.
type spelled struct {
	once    sync.Once
	read    func() (*spelling.Lexicon, error)
	lexicon *spelling.Lexicon
	err     error
}

func (s *spelled) words() (*spelling.Lexicon, error) {
	s.once.Do(func() { s.lexicon, s.err = s.read() })
	return s.lexicon, s.err
}

// Close implements io.Closer: nothing is open.
func (s *spelled) Close() error { return nil }

// spelledWords returns where the words of a segment come from: its file, or where an older
// program made the segment, its passages.
func (o *opening) spelledWords(s *segmentManifest, store *corpus.Store) (*spelled, error) {
	if s.Spelling != nil {
		return openFile(o, func(path string) (*spelled, error) {
			return &spelled{read: func() (*spelling.Lexicon, error) { return spelling.Read(o.disk, path) }}, nil
		}, *s.Spelling)
	}
	key := filepath.Join(o.folder, spellingName)
	out, err := use(o.files, key, func() (*spelled, error) {
		return &spelled{read: func() (*spelling.Lexicon, error) { return sampledWords(store) }}, nil
	})
	if err == nil {
		o.keys = append(o.keys, key)
	}
	return out, err
}

// sampledWords counts the words of passages that lie evenly in a store.
func sampledWords(store *corpus.Store) (*spelling.Lexicon, error) {
	b := spelling.NewBuilder()
	all := store.Len()
	n := min(all, mostSampled)
	for i := range n {
		p, err := store.Passage(rank.Ordinal(i * all / n))
		if err != nil {
			return nil, err
		}
		b.Add(p.Title, p.Text)
	}
	return b.Lexicon(), nil
}

// Near returns the words of the passages that are at least one and at most so many edits from a
// word in lower case, the most frequent first. Their counts are of passages, of deleted
// ones too until their segment is merged; words that only such passages have are left out.
func (g *Generation) Near(word string, most int) ([]spelling.Candidate, error) {
	var found []spelling.Candidate
	for _, s := range g.segments {
		x, err := s.spelled.words()
		if err != nil {
			return nil, err
		}
		found = x.Near(found, word, most)
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

// Frequency returns how many passages have a word, in this form or in another one with the same
// term, and whether it has a term at all: stop words have none.
func (g *Generation) Frequency(word string) (passages int, term bool, err error) {
	return g.words.Frequency(word)
}

// Beside does what bm25.Searcher.Beside does.
func (g *Generation) Beside(before, word, after string) (left, right float64, err error) {
	return g.words.Beside(before, word, after)
}
