package search

import (
	"context"
	"fmt"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
)

// bm25 is BM25 over words.
type bm25 struct {
	identity
	symbols symbolShare
}

func (w *bm25) takesPart(_ *lineUp, r *Request, m *fusion.Method) bool {
	return m.Uses(fusion.Lexical) && r.words()
}

func (w *bm25) ask(ctx context.Context, p *pass, f *finding) error {
	index := p.view.Narrowed.Words()
	if index == nil {
		f.reason = "this collection has no word index"
		return fmt.Errorf("generation %d has no word index", p.view.Generation())
	}
	return p.searchWords(ctx, f, index, p.words, func(ctx context.Context) (err error) {
		f.upperBound, err = index.UpperBound(ctx, p.words)
		if err != nil {
			return fmt.Errorf("the words' weights: %w", err)
		}
		if g := p.defaults.Gate; g != nil && g.Symbols != 0 {
			f.symbols = w.symbols.read(ctx, p.view)
		}
		f.keys, err = p.readKeys(ctx, index, p.view.Narrowed.Phrases())
		return err
	})
}

func (w *bm25) observe(f *finding, q *familiarities) fusion.Observed {
	o := fusion.Observed{Kind: fusion.Lexical, UpperBound: f.upperBound, Rival: q.rival(-1), Symbols: f.symbols}
	if f.keys != nil {
		o.Exact = f.keys.exact
	}
	return o
}

// phrases is BM25 over pairs of words, which only the gate weighs, beside words.
// A collection that was built without phrases has none.
type phrases struct{ identity }

func (w *phrases) takesPart(l *lineUp, r *Request, m *fusion.Method) bool {
	return m.Uses(fusion.Phrases) && r.words() && l.defaults.Gate != nil && l.defaults.Gate.Phrases > 0
}

func (w *phrases) available(in storage.Indexes) bool { return in.Phrases() != nil }

func (w *phrases) ask(ctx context.Context, p *pass, f *finding) error {
	return p.searchWords(ctx, f, p.view.Narrowed.Phrases(), p.question, func(context.Context) error { return nil })
}

func (w *phrases) observe(*finding, *familiarities) fusion.Observed {
	return fusion.Observed{Kind: fusion.Phrases}
}

// searchWords asks an index of words or of phrases for those of a text, and for more in the same turn.
func (p *pass) searchWords(
	ctx context.Context,
	f *finding,
	index storage.WordIndex,
	text string,
	more func(context.Context) error,
) error {
	f.score = func(ctx context.Context, passages []rank.Ordinal, out []float32) error {
		return inParts(ctx, passages, out, func(passages []rank.Ordinal, out []float32) error {
			return index.Scores(ctx, text, passages, out)
		})
	}
	f.explain = func(ctx context.Context, passage rank.Ordinal) ([]storage.TermScore, error) {
		return index.Explain(ctx, text, passage)
	}
	return runSearch(ctx, p.Runner, f, func(ctx context.Context) (err error) {
		f.hits, err = p.searchDistinct(
			ctx,
			p.candidates,
			func(k int) ([]rank.Hit, error) { return index.Search(ctx, text, k) },
		)
		err = f.keepPartial(err)
		if err != nil {
			return fmt.Errorf("searching the %s: %w", f.source.name(), err)
		}
		f.hits = f.hits[:min(len(f.hits), p.candidates)]
		if err := checkHits(f.hits, p.view.Passages().Ordinals()); err != nil {
			return err
		}
		return more(ctx)
	})
}
