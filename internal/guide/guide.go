// Package guide makes a collection of the guide's pages, and answers questions about conclave from it:
// the pages are read, cut and indexed as anybody's documents are, and the same engine searches them, by
// words.
package guide

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"example.org/conclave/docs"
	"example.org/conclave/documents"
	"example.org/conclave/handlers/web"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search"
	"example.org/conclave/search/turn"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
	"example.org/conclave/store/folder/view"
)

// Options are how the pages of the guide are read and searched.
type Options struct {
	Reading documents.Options
	Limits  search.Limits
	// Candidates is the number of hits of the search by words, and K the number of results if the caller gives none.
	K, Candidates int
	// Turns shares the processors with other searches; nil: every search computes at once.
	Turns turn.Turns
}

// Guide is the guide as a collection. It is made in a temporary folder by the first search, which takes a fraction of a
// second. It is safe for concurrent use.
type Guide struct {
	options Options

	mu     sync.Mutex
	closed bool
	engine *search.Engine
	pages  *folder.Collection
	dir    string
}

// New returns a Guide that makes its collection when it is first searched. Close removes the collection.
func New(o Options) *Guide { return &Guide{options: o} }

// SearchGuide returns the passages of the guide that answer a question best, at most k, the best first; 0:
// Options.K. The first search makes the collection. It fails if the Guide is closed or the collection cannot be
// made, and with the errors of the engine.
func (g *Guide) SearchGuide(ctx context.Context, question string, k int) (found []web.Finding, err error) {
	engine, err := g.openEngine(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := engine.Search(ctx, search.Caller{}, search.Request{
		Question: question, K: k, Experts: &[]string{}, Fields: []string{"text", "document"},
	})
	if err != nil {
		return nil, err
	}
	for _, x := range answer.Results {
		above := strings.Split(x.Heading, documents.Below)
		f := web.Finding{Text: x.Text, Heading: above[len(above)-1]}
		if x.Document != nil {
			f.Page = x.Document.ID
		}
		found = append(found, f)
	}
	return found, nil
}

// openEngine returns the engine over the pages. The first call makes it. It fails if the Guide is closed.
func (g *Guide) openEngine(ctx context.Context) (*search.Engine, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return nil, errors.New("the guide is closed")
	case g.engine != nil:
		return g.engine, nil
	}
	if err := g.buildEngine(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("making the guide's collection: %w", err), g.discardEngine(ctx))
	}
	return g.engine, nil
}

// buildEngine indexes the guide's pages in a temporary folder and sets g.dir, g.pages and g.engine. After an error only
// some of them are set, and the caller calls discardEngine. The caller holds mu.
func (g *Guide) buildEngine(ctx context.Context) (err error) {
	g.dir, err = os.MkdirTemp("", "conclave-guide-")
	if err != nil {
		return err
	}
	pages, err := readPages(ctx, g.options.Reading)
	if err != nil {
		return err
	}
	at := filepath.Join(g.dir, "index")
	if _, err := folder.Build(ctx, at, &pages, store.BuildOptions{Threads: 1, New: true}); err != nil {
		return err
	}
	g.pages, err = folder.Open(at)
	if err != nil {
		return err
	}
	g.engine, err = search.NewEngine(search.EngineConfig{
		Corpus: view.Of(g.pages), Limits: g.options.Limits, Turns: g.options.Turns,
		LineUp: search.LineUp{Defaults: search.Defaults{
			K: g.options.K, Candidates: g.options.Candidates, Timeout: g.options.Limits.Timeout, Fusion: "rrf",
			Missing: "min", Correct: true,
		}},
	})
	return err
}

// Close closes the engine and removes the collection. No search may be under way; later ones fail.
func (g *Guide) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	return g.discardEngine(context.Background())
}

// discardEngine closes the engine and the pages and removes the temporary collection, as far as they were made, and
// sets them to zero. It waits for running searches as long as ctx lasts. It tries all steps and returns their errors
// joined. The caller holds mu.
func (g *Guide) discardEngine(ctx context.Context) (err error) {
	if g.engine != nil {
		err = g.engine.Close(ctx)
	}
	if g.pages != nil {
		err = errors.Join(err, g.pages.Close())
	}
	if g.dir != "" {
		err = errors.Join(err, os.RemoveAll(g.dir))
	}
	g.engine, g.pages, g.dir = nil, nil, ""
	return err
}

// stream is a store.Stream of the passages of all pages.
type stream struct {
	passages []corpus.Passage
	at       int
}

// readPages reads all pages of the guide, which are built into the program, and returns the stream of their passages.
// Each page is a document with its file name as id. It fails if a page cannot be read or ctx ends.
func readPages(ctx context.Context, o documents.Options) (all stream, err error) {
	extractor := documents.NewExtractor(o.Limits, nil)
	err = fs.WalkDir(docs.Files, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".md" {
			return err
		}
		data, err := docs.Files.ReadFile(name)
		if err != nil {
			return err
		}
		d, _, err := extractor.Read(ctx, documents.Input{Name: name, Data: data})
		if err != nil {
			return fmt.Errorf("the page %s: %w", name, err)
		}
		all.passages = append(all.passages, documents.PassagesOf(documents.About{ID: name}, d, data, o.Words)...)
		return nil
	})
	return all, err
}

// Next returns the next passage; io.EOF after the last.
func (s *stream) Next() (corpus.Passage, error) {
	if s.at == len(s.passages) {
		return corpus.Passage{}, io.EOF
	}
	s.at++
	return s.passages[s.at-1], nil
}

// Place returns the id of the passage that Next returned last. The stream must have a passage.
func (s *stream) Place() corpus.Place {
	return corpus.Place{File: s.passages[max(s.at-1, 0)].ID}
}

// Progress returns -1 and -1: the progress is not known.
func (s *stream) Progress() (done, total int64) { return -1, -1 }
