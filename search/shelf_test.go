package search

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
)

// shelf is a corpus in memory: passages, exact vector indexes, and words.
type shelf struct {
	number   uint64
	passages []corpus.Passage
	vectors  map[string]storage.VectorIndex
	words    storage.WordIndex
	phrases  storage.WordIndex
	reads    *atomic.Int64 // of passages
	deleted  int           // that are among passages all the same
	among    func(ctx context.Context) error
	released func()
	most     int  // passages that an exact search compares with
	near     bool // they are at hand
}

// nearShelf is a shelf whose passages are at hand.
type nearShelf struct{ *shelf }

func (nearShelf) AtHand() {}

func (s *shelf) Generation() uint64 { return s.number }
func (s *shelf) Passages() storage.Passages {
	if s.near {
		return nearShelf{s}
	}
	return s
}
func (s *shelf) Vectors(name string) (storage.VectorIndex, bool) {
	v, ok := s.vectors[name]
	return v, ok
}
func (s *shelf) Words() storage.WordIndex   { return s.words }
func (s *shelf) Phrases() storage.WordIndex { return s.phrases }
func (s *shelf) Index(name string) (storage.IndexInfo, bool) {
	_, ok := s.vectors[name]
	recall := map[string]float64{"recall@10": 1}
	return storage.IndexInfo{Kind: "flat", Passages: s.Len(), Recall: recall, MostExact: s.most}, ok
}
func (s *shelf) Release()      { s.released() }
func (s *shelf) Len() int      { return len(s.passages) - s.deleted }
func (s *shelf) Ordinals() int { return len(s.passages) }
func (s *shelf) After(_ context.Context, id string, limit int) (out []rank.Ordinal, err error) {
	for i, p := range s.passages { // their ids are in order
		if p.ID > id && len(out) < limit {
			out = append(out, rank.Ordinal(i))
		}
	}
	return out, nil
}

func (s *shelf) DocumentsAfter(_ context.Context, id string, limit int) (out []rank.Ordinal, err error) {
	for i, p := range s.passages { // their ids are in order
		if _, n, ok := corpus.DocumentOf(&p); ok && n == 1 && p.ID > id && len(out) < limit {
			out = append(out, rank.Ordinal(i))
		}
	}
	return out, nil
}

func (s *shelf) IDs(ordinals []rank.Ordinal) (ids []string, err error) {
	for _, o := range ordinals {
		ids = append(ids, s.passages[o].ID)
	}
	return ids, nil
}

func (s *shelf) Lookup(ctx context.Context, ids []string) ([]storage.Found, error) {
	found := make([]storage.Found, len(ids))
	for i, id := range ids {
		found[i].Ordinal, found[i].There, _ = s.Ordinal(ctx, id)
	}
	return found, nil
}

func (s *shelf) Size(o rank.Ordinal) (int, error) {
	p := s.passages[o]
	return len(p.ID) + len(p.Title) + len(p.Text), nil
}
func (s *shelf) Read(ctx context.Context, passages []rank.Ordinal) ([]corpus.Passage, error) {
	out := make([]corpus.Passage, len(passages))
	for i, o := range passages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if int(o) >= len(s.passages) {
			return nil, fmt.Errorf("no passage %d", o)
		}
		s.reads.Add(1)
		out[i] = s.passages[o]
	}
	return out, nil
}

func (s *shelf) Sample(n int) (out []rank.Ordinal) {
	for o := range min(n, len(s.passages)) {
		out = append(out, rank.Ordinal(o))
	}
	return out
}

func (s *shelf) Prefetch(context.Context, []rank.Ordinal) ([]rank.Ordinal, error) { return nil, nil }

func (s *shelf) Contains(_ context.Context, passages []rank.Ordinal) ([]bool, error) {
	out := make([]bool, len(passages))
	for i := range out {
		out[i] = true
	}
	return out, nil
}

func (s *shelf) SortByID(passages []rank.Ordinal) error { slices.Sort(passages); return nil }

func (s *shelf) Ordinal(_ context.Context, id string) (rank.Ordinal, bool, error) {
	for i, p := range s.passages {
		if p.ID == id {
			return rank.Ordinal(i), true, nil
		}
	}
	return 0, false, nil
}

func (s *shelf) Among(
	ctx context.Context,
	f storage.Filter,
) (storage.Indexes, func(context.Context) (int, error), error) {
	if s.among != nil {
		if err := s.among(ctx); err != nil {
			return nil, nil, err
		}
	}
	allowed := map[rank.Ordinal]bool{}
	for i, p := range s.passages {
		has := func(tag string) bool { return slices.Contains(p.Tags, tag) }
		if (len(f.TagsAny) == 0 || slices.ContainsFunc(f.TagsAny, has)) &&
			!slices.ContainsFunc(f.TagsAll, func(tag string) bool { return !has(tag) }) {
			document, _, _ := corpus.SplitPassageID(p.ID)
			hidden := slices.ContainsFunc(f.Hidden, func(r storage.Reference) bool { return r.ID == p.ID || r.ID == document })
			if hidden || !f.Where.Matches(p.Tags, p.Metadata) {
				continue
			}
			if len(f.Documents) == 0 || slices.Contains(f.Documents, document) {
				allowed[rank.Ordinal(i)] = true
			}
		}
	}
	return &narrowed{s, allowed}, func(context.Context) (int, error) { return len(allowed), nil }, nil
}

// narrowed searches everything and keeps what is allowed.
type narrowed struct {
	shelf   *shelf
	allowed map[rank.Ordinal]bool
}

func (n *narrowed) Vectors(name string) (storage.VectorIndex, bool) {
	v, ok := n.shelf.Vectors(name)
	return narrowedVectors{v, n}, ok
}

func (n *narrowed) Prefetch(ctx context.Context, passages []rank.Ordinal) ([]rank.Ordinal, error) {
	return n.shelf.Prefetch(ctx, passages)
}

func (n *narrowed) Contains(_ context.Context, passages []rank.Ordinal) (out []bool, err error) {
	for _, o := range passages {
		out = append(out, n.allowed[o])
	}
	return out, nil
}

func (n *narrowed) Words() storage.WordIndex { return narrowedWords{n.shelf.Words(), n} }

func (n *narrowed) Phrases() storage.WordIndex {
	if n.shelf.phrases == nil {
		return nil
	}
	return narrowedWords{n.shelf.phrases, n}
}

func (n *narrowed) first(hits []rank.Hit, k int) []rank.Hit {
	hits = slices.DeleteFunc(hits, func(h rank.Hit) bool { return !n.allowed[h.Ordinal] })
	return hits[:min(k, len(hits))]
}

type narrowedVectors struct {
	storage.VectorIndex
	to *narrowed
}

func (n narrowedVectors) Search(ctx context.Context, query []float32, k int, exact bool) ([]rank.Hit, error) {
	hits, err := n.VectorIndex.Search(ctx, query, n.to.shelf.Ordinals(), exact)
	return n.to.first(hits, k), err
}

type narrowedWords struct {
	storage.WordIndex
	to *narrowed
}

func (n narrowedWords) Search(ctx context.Context, question string, k int) ([]rank.Hit, error) {
	hits, err := n.WordIndex.Search(ctx, question, n.to.shelf.Ordinals())
	return n.to.first(hits, k), err
}

// library hands out shelves and counts those that are in use.
type library struct {
	mu      sync.Mutex
	shelf   *shelf
	pinned  atomic.Int64
	acquire atomic.Int64
}

func (l *library) Acquire() storage.View {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pinned.Add(1)
	l.acquire.Add(1)
	view := *l.shelf
	once := false
	view.released = func() {
		if once {
			panic("released twice")
		}
		once = true
		l.pinned.Add(-1)
	}
	return &view
}
