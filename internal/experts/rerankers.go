package experts

import (
	"context"
	"errors"
	"fmt"

	"example.org/conclave/configs"
	"example.org/conclave/encoder"
	"example.org/conclave/endpoints"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/models"
	"example.org/conclave/search/learned"
	"example.org/conclave/shipped"
)

// reranker is a loaded reranker as the engine uses it.
type reranker struct {
	*encoder.Reranker
	name   string
	bundle *models.Bundle
}

// scorer is a reranker, or a reader that reranks.
type scorer interface {
	asLoadedReranker() learned.LoadedReranker
	Close() error
}

// readerAsReranker is a reader that reranks: by its selection, which says how well a passage answers.
type readerAsReranker struct {
	*reader
	shared bool // with the readers of the set, which close it
	usual  bool // nobody configured it
}

// OpenRerankers loads the configured rerankers. If none is configured it takes the shipped reader if that is among the
// readers. Call it after OpenReaders: a reader that is also a reranker is loaded once. It fails if a configured one
// cannot be loaded, or if searches rerank by default and there is none.
func (x *Set) OpenRerankers() (err error) {
	x.rerankers, err = openOnce(x, func(b *pooledReaders) *openedOnce[scorer] { return &b.rerankers }, x.openRerankers)
	return err
}

// openRerankers returns the configured rerankers, or, if none are configured, the shipped reader as one, if it is
// among the readers; if it is not, none, which is an error if search.rerank is true. After an error it returns
// those opened so far, for the caller to close.
func (x *Set) openRerankers() (rerankers []scorer, err error) {
	if len(x.config.Rerankers) == 0 {
		if r := x.readerNamed(shipped.Reader); r != nil {
			return []scorer{&readerAsReranker{reader: r, shared: true, usual: true}}, nil
		}
		if x.config.Search.Rerank == "true" {
			return nil, errors.New("search.rerank is true, and rerankers names none")
		}
	}
	for _, c := range x.config.CompleteRerankers() {
		r, err := x.openReranker(c)
		if err != nil {
			return rerankers, fmt.Errorf("rerankers: %w", err)
		}
		rerankers = append(rerankers, r)
	}
	return rerankers, nil
}

// readerNamed returns the reader with a name among those that were opened; nil if there is none.
func (x *Set) readerNamed(name string) *reader {
	for _, r := range x.readers {
		if own, ok := r.(*reader); ok && own.name == name {
			return own
		}
	}
	return nil
}

// openReranker returns a configured reranker: a model behind an interface, one of the set's readers, or else a bundle
// of a reader or reranker that it loads. It logs where texts are sent, and if the model runs on the processor though a
// GPU was wanted. It fails if the bundle is missing or damaged, a key cannot be read, or the model or the runtime
// cannot be loaded.
func (x *Set) openReranker(c configs.Reranker) (scorer, error) {
	name := c.Name
	if c.Address != "" {
		r, err := openRemoteReranker(c)
		if err != nil {
			return nil, err
		}
		x.log.Info("a reranker sends questions and passages to another server",
			"reranker", name, "host", endpoints.Host(c.Address))
		return r, nil
	}
	if r := x.readerNamed(name); r != nil {
		return &readerAsReranker{reader: r, shared: true}, nil
	}
	found, err := x.findBundle(name)
	if err != nil {
		return nil, err
	}
	if found.Bundle.Manifest.Kind == models.KindReader {
		r, err := x.openReader(name)
		if err != nil {
			return nil, err
		}
		return &readerAsReranker{reader: r.(*reader)}, nil
	}
	r, err := x.runtime.OpenReranker(found.Bundle, found.Running)
	if err != nil {
		return nil, err
	}
	if why := r.Fallback(); why != nil {
		x.logFallback("reranker", name, why)
	}
	return &reranker{r, name, found.Bundle}, nil
}

// Score implements learned.Reranker: it returns a Relevance for each passage, in their order. After an error there
// are none or too few.
func (r *reranker) Score(
	ctx context.Context,
	question string,
	passages []corpus.Passage,
) (out []learned.Relevance, err error) {
	results, err := r.Reranker.Score(ctx, question, encoderTexts(passages))
	return relevances(results), err
}

// Score implements learned.Reranker: it returns the reader's Relevance for each passage, in their order. After an
// error there are none or too few.
func (r *readerAsReranker) Score(
	ctx context.Context,
	question string,
	passages []corpus.Passage,
) (out []learned.Relevance, err error) {
	results, err := r.Reader.Score(ctx, question, encoderTexts(passages))
	return relevances(results), err
}

// relevances converts what a model returned for passages to the engine's type, in the same order; nil for none.
func relevances(results []encoder.Relevance) []learned.Relevance {
	var out []learned.Relevance
	for _, s := range results {
		out = append(out, learned.Relevance{Score: s.Score, Cut: s.Cut})
	}
	return out
}

// Close closes the reader, unless the set has it among its readers. It returns the error of the reader's Close.
func (r *readerAsReranker) Close() error {
	if r.shared {
		return nil
	}
	return r.reader.Close()
}

// asLoadedReranker returns the reader as the search engine lists rerankers.
func (r *readerAsReranker) asLoadedReranker() learned.LoadedReranker {
	m := &r.bundle.Manifest
	return learned.LoadedReranker{
		Reranker: r, Name: r.name, Languages: languagesOfReader(m), Reads: true, Expect: r.Expect,
		Info: learned.RerankerInfo{
			Name: r.name, Fingerprint: r.Fingerprint(), Provider: r.Provider(), Precision: m.Precision,
			MaxTokens: m.Reader.MaxTokens.Pair, Usual: r.usual,
		},
	}
}

// asLoadedReranker returns the reranker as the search engine lists it.
func (r *reranker) asLoadedReranker() learned.LoadedReranker {
	m := &r.bundle.Manifest
	return learned.LoadedReranker{
		Reranker: r, Name: r.name, Expect: r.Expect,
		Info: learned.RerankerInfo{
			Name: r.name, Fingerprint: r.Fingerprint(), Provider: r.Provider(), Precision: m.Precision,
			MaxTokens: m.Reranker.Tokens,
		},
	}
}
