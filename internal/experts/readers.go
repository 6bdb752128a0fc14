package experts

import (
	"context"

	"example.org/conclave/encoder"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/models"
	"example.org/conclave/search/learned"
	"example.org/conclave/shipped"
)

// reader is a loaded reader as the engine uses it.
type reader struct {
	*encoder.Reader
	name   string
	bundle *models.Bundle
}

// openedReader is a reader or a generator.
type openedReader interface {
	asLoadedReader() learned.LoadedReader
	Close() error
}

// OpenReaders loads the configured readers, and after them the configured generators, for Readers. If no reader is
// configured it takes the shipped one, provided that it is installed and can be used, else it logs why. It fails if
// a configured one cannot be loaded. A set with a pool takes those of the pool.
func (x *Set) OpenReaders() (err error) {
	x.readers, err = openOnce(x, func(b *pooledReaders) *openedOnce[openedReader] { return &b.readers }, x.openReaders)
	return err
}

// openReaders returns the bundled readers and the endpoints of the configured generators. After an error it returns
// those opened so far, for the caller to close.
func (x *Set) openReaders() ([]openedReader, error) {
	readers, err := x.openBundledReaders()
	if err != nil {
		return readers, err
	}
	for _, g := range x.config.CompleteGenerators() {
		e, err := newEndpoint(g, x.config.Writing.Unsupported)
		if err != nil {
			return readers, err
		}
		readers = append(readers, e)
	}
	return readers, nil
}

// openBundledReaders returns the configured readers, or the shipped one if none is configured; none if that is not
// installed or cannot be used. After an error it returns those opened so far.
func (x *Set) openBundledReaders() (readers []openedReader, err error) {
	names := x.config.Readers
	must := true
	if len(names) == 0 {
		if !shipped.Installed(x.cache, shipped.Reader) {
			return nil, nil
		}
		names = []string{shipped.Reader}
		must = false
	}
	for _, name := range names {
		r, err := x.openReader(name)
		switch {
		case err == nil:
			readers = append(readers, r)
		case must:
			return readers, err
		default:
			x.log.Warn("a reader cannot be used: answers are not marked", "cause", err)
		}
	}
	return readers, nil
}

// openReader loads the named bundle, of a reader or a generator, and logs if the model runs on the processor though a
// GPU was wanted. The caller closes it. It fails if the bundle is missing or damaged, or the model or the runtime
// cannot be loaded.
func (x *Set) openReader(name string) (openedReader, error) {
	found, err := x.findBundle(name)
	if err != nil {
		return nil, err
	}
	if found.Bundle.Manifest.Kind == models.KindGenerator {
		return x.openGenerator(name, found)
	}
	r, err := x.runtime.OpenReader(found.Bundle, found.Running)
	if err != nil {
		return nil, err
	}
	if why := r.Fallback(); why != nil {
		x.logFallback("reader", name, why)
	}
	return &reader{r, name, found.Bundle}, nil
}

// Read implements learned.Reader: it returns a ReadResult for each passage, in their order. After an error the
// results are incomplete.
func (r *reader) Read(ctx context.Context, question string, passages []corpus.Passage) ([]learned.ReadResult, error) {
	results, err := r.Reader.Read(ctx, question, encoderTexts(passages))
	out := make([]learned.ReadResult, len(results))
	for i, s := range results {
		out[i] = learned.ReadResult{
			Select: s.Select,
			Starts: s.Starts,
			Ends:   s.Ends,
			Cut:    s.Cut,
			Spans:  make([]learned.Span, len(s.Spans)),
		}
		for j, span := range s.Spans {
			out[i].Spans[j] = learned.Span{Start: span.Begin, End: span.End, Score: span.Score}
		}
	}
	return out, err
}

// languagesOfReader returns English for a reader that was fine-tuned from the shipped base; nil for another one, of
// which it is not known.
func languagesOfReader(m *models.Manifest) learned.Languages {
	if shipped.IsOfBase(m) {
		return learned.Languages{shipped.English}
	}
	return nil
}

// asLoadedReader returns the reader as the search engine lists it.
func (r *reader) asLoadedReader() learned.LoadedReader {
	m := &r.bundle.Manifest
	return learned.LoadedReader{Reader: r, Name: r.name, Languages: languagesOfReader(m), Info: learned.ReaderInfo{
		Name: r.name, Fingerprint: r.Fingerprint(), Provider: r.Provider(), Precision: m.Precision,
		LongestSpan: m.Reader.LongestSpan,
		MaxTokens: map[string]int{
			"question": m.Reader.MaxTokens.Question,
			"title":    m.Reader.MaxTokens.Title,
			"pair":     m.Reader.MaxTokens.Pair,
		},
	}}
}
