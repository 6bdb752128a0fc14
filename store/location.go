package store

import (
	"context"

	"example.org/conclave/internal/corpus"
)

// Location is where the passages of a collection are kept, or will be. Nothing is open yet.
type Location interface {
	// Experts returns those of the collection; nil where there is none, which is different from
	// one without experts. Of one whose indexing has not ended they are those that it will have.
	Experts(ctx context.Context) ([]Expert, error)
	// Open opens the collection for reading.
	Open(ctx context.Context, o OpenOptions) (Backend, error)

	// Words returns the constants of BM25 that the collection was made with.
	Words(ctx context.Context) (WordConstants, error)
	// Settings returns the text of the collection's settings, which may be there before the collection is; nil:
	// there are none.
	Settings(ctx context.Context) ([]byte, error)
	// Sample returns at most n random passages; none where there is no collection, or its first indexing has not ended.
	Sample(ctx context.Context, n int) ([]corpus.Passage, error)
	// Index adds the passages of a source, to a new collection where there is none.
	Index(ctx context.Context, source Stream, o BuildOptions) (BuildReport, error)
	// AddExpert encodes all passages with one more expert.
	AddExpert(ctx context.Context, e PassageEncoder, o BuildOptions) (BuildReport, error)
	// RemoveExpert removes the vectors of an expert.
	RemoveExpert(ctx context.Context, name string) error
	// CheckParts returns an error where the store cannot hold vectors of parts of passages.
	CheckParts() error

	// Folder returns where on this machine the collection takes its space; "": on others.
	Folder() string
	// Shards returns into how many shards the passages go; 0: there are none.
	Shards(ctx context.Context) (int, error)
}

// OpenOptions say what a store is opened for.
type OpenOptions struct {
	// Candidates is the most hits that a source is asked for. An error where the store gives
	// fewer.
	Candidates int
	// Floors are the least recall@10 of each kind of index (Contents.CheckRecall). Nil: an index
	// of any recall is opened.
	Floors map[string]float64
	// Unprepared: nothing is searched, so that nothing is read ahead of searches.
	Unprepared bool
	// Warn is told of what searches lack. Nil: nobody.
	Warn func(message string, cause error)
}
