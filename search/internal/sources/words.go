package sources

import (
	"context"
	"fmt"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
)

// wordSource is BM25 over words.
type wordSource struct {
	label
	symbols SymbolShare
}

func (w *wordSource) TakesPart(of *Selection, m *fusion.Method) bool {
	return m.Uses(fusion.Lexical) && of.Words
}

func (w *wordSource) ask(ctx context.Context, p *Findings, f *Finding) error {
	index := p.View.Narrowed.Words()
	if index == nil {
		f.Reason = "this collection has no word index"
		return fmt.Errorf("generation %d has no word index", p.View.Generation())
	}
	return p.searchWords(ctx, f, index, p.Inquiry.Words, func(ctx context.Context) (err error) {
		f.upperBound, err = index.UpperBound(ctx, p.Inquiry.Words)
		err = f.keepPartial(err)
		if err != nil {
			return fmt.Errorf("the words' weights: %w", err)
		}
		if p.Panel.symbols {
			f.symbols = w.symbols.Read(ctx, p.View)
		}
		f.Keys, err = p.ReadKeys(ctx, index, p.View.Narrowed.Phrases())
		return f.keepPartial(err)
	})
}

func (w *wordSource) Observe(f *Finding, q *Familiarities) fusion.Observed {
	o := fusion.Observed{Kind: fusion.Lexical, UpperBound: f.upperBound, Rival: q.rival(-1), Symbols: f.symbols}
	if f.Keys != nil {
		o.Exact = f.Keys.Exact
	}
	return o
}

// phraseSource is BM25 over pairs of words, which only the gate weighs, beside words.
// A collection that was built without phrases has none.
type phraseSource struct{ label }

func (w *phraseSource) TakesPart(of *Selection, m *fusion.Method) bool {
	return m.Uses(fusion.Phrases) && of.Words && of.Gate != nil && of.Gate.Phrases > 0
}

func (w *phraseSource) available(in storage.Indexes) bool { return in.Phrases() != nil }

func (w *phraseSource) ask(ctx context.Context, p *Findings, f *Finding) error {
	return p.searchWords(ctx, f, p.View.Narrowed.Phrases(), p.Inquiry.Question, func(context.Context) error { return nil })
}

func (w *phraseSource) Observe(*Finding, *Familiarities) fusion.Observed {
	return fusion.Observed{Kind: fusion.Phrases}
}

// searchWords asks an index of words or of phrases for those of a text, and for more in the same turn.
func (p *Findings) searchWords(
	ctx context.Context,
	f *Finding,
	index storage.WordIndex,
	text string,
	more func(context.Context) error,
) error {
	f.Score = func(ctx context.Context, passages []rank.Ordinal, out []float32) error {
		return inParts(ctx, passages, out, func(passages []rank.Ordinal, out []float32) error {
			return index.Scores(ctx, text, passages, out)
		})
	}
	f.Explain = func(ctx context.Context, passage rank.Ordinal) ([]storage.TermScore, error) {
		return index.Explain(ctx, text, passage)
	}
	return runSearch(ctx, p.Panel.Run, f, func(ctx context.Context) (err error) {
		f.Hits, err = p.searchDistinct(
			ctx,
			p.Inquiry.Candidates,
			func(k int) ([]rank.Hit, error) { return index.Search(ctx, text, k) },
		)
		err = f.keepPartial(err)
		if err != nil {
			return fmt.Errorf("searching the %s: %w", f.Source.Name(), err)
		}
		f.Hits = f.Hits[:min(len(f.Hits), p.Inquiry.Candidates)]
		if err := checkHits(f.Hits, p.View.Passages().Ordinals()); err != nil {
			return err
		}
		return more(ctx)
	})
}
