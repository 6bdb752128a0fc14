package sources

import (
	"context"
	"fmt"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
)

// wordSource is the source of BM25 over words.
type wordSource struct {
	label
	symbols SymbolShare
}

// TakesPart implements Source: it reports whether the method uses words and the request wants BM25.
func (w *wordSource) TakesPart(selection *Selection, m *fusion.Method) bool {
	return m.Uses(fusion.Lexical) && selection.Words
}

// ask implements Source. It searches the words of the question, their synonyms and the parts of its compounds, reads
// the question's keys, and at last computes the nearness of its hits (nearOfHits). It fails if the index does, or the
// collection has none. If only a part of the index fails, there is no error, and f.Partial says so.
func (w *wordSource) ask(ctx context.Context, p *Findings, f *Finding) error {
	index := p.View.Narrowed.Words()
	if index == nil {
		f.Reason = "this collection has no word index"
		return fmt.Errorf("generation %d has no word index", p.View.Generation())
	}
	asked, err := p.withCompoundParts(ctx, index, p.Inquiry.Words)
	if err := f.keepPartial(err); err != nil {
		return fmt.Errorf("looking for parts of compounds: %w", err)
	}
	err = p.searchWords(ctx, f, index, asked, func(ctx context.Context) (err error) {
		f.upperBound, err = index.UpperBound(ctx, asked)
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
	if err == nil {
		found := make([]rank.Ordinal, len(f.Hits))
		for i, h := range f.Hits {
			found[i] = h.Ordinal
		}
		p.wordsFound.Store(&found)
		f.near = p.nearOfHits(ctx, found)
	}
	return err
}

// Observe implements Source. It returns the upper bound of scores for the question, the share of rare words that the
// encoder knows only in pieces (Keys.Exact; 0 without keys), the passages' share of symbols, and the highest
// familiarity of a specialist.
func (w *wordSource) Observe(f *Finding, q *Familiarities) fusion.ObservedSource {
	o := fusion.ObservedSource{
		Kind: fusion.Lexical, UpperBound: f.upperBound, Rival: q.highestRival(-1), Symbols: f.symbols,
	}
	if f.Keys != nil {
		o.Exact = f.Keys.Exact
	}
	return o
}

// phraseSource is the source of BM25 over pairs of words. Only the gate weighs it, next to words. A collection may have
// been built without a phrase index.
type phraseSource struct{ label }

// TakesPart implements Source: it reports whether the method uses phrases, the request wants BM25, and the fitted gate
// gives phrases a weight.
func (w *phraseSource) TakesPart(selection *Selection, m *fusion.Method) bool {
	return m.Uses(fusion.Phrases) && selection.Words && selection.Gate != nil && selection.Gate.Phrases > 0
}

// isAvailable implements Source: it reports whether there is a phrase index.
func (w *phraseSource) isAvailable(in storage.Indexes) bool { return in.Phrases() != nil }

// ask implements Source: it searches the phrases of the question. It fails if the index does.
func (w *phraseSource) ask(ctx context.Context, p *Findings, f *Finding) error {
	return p.searchWords(ctx, f, p.View.Narrowed.Phrases(), p.Inquiry.Question, func(context.Context) error { return nil })
}

// Observe implements Source: it returns only the kind.
func (w *phraseSource) Observe(*Finding, *Familiarities) fusion.ObservedSource {
	return fusion.ObservedSource{Kind: fusion.Phrases}
}

// searchWords searches an index of words or phrases for a text, and fills in the hits of f and the functions that score
// and explain passages. It then calls more in the same turn to compute. It returns the first error.
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
			ctx, p.Inquiry.Candidates, func(k int) ([]rank.Hit, error) { return index.Search(ctx, text, k) },
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
