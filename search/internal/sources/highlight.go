package sources

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// highlighter returns a function that finds the words of a passage that the question's tokens match best. It leaves out
// words that match no better than in random passages, and words that carry no meaning of their own, such as function
// words. It returns nil if the index has no vectors of tokens or the encoder does not say which word a token is of. The
// returned function is for one goroutine; its first call reads the vectors of random passages. view has to be held
// until its last call.
func (x *lateSource) highlighter(
	ctx context.Context,
	view *snapshot.PinnedView,
	index storage.VectorIndex,
	asked string,
	question []float32,
) func(rank.Ordinal, corpus.Passage) ([]reply.Highlight, error) {
	stored, ok := index.(storage.TokenVectors)
	words, also := x.Model.Passages.(learned.PassageWords)
	if !ok || !also {
		return nil
	}
	dim := x.Model.Info.Dimension
	var usual *chanceMatches // of the question, when it is first needed
	var tells func(p *corpus.Passage, field string, start, end int) bool
	return func(o rank.Ordinal, p corpus.Passage) ([]reply.Highlight, error) {
		tokenWords, err := words.PassageWords(p)
		if err != nil || len(tokenWords) == 0 {
			return nil, err
		}
		vectors, err := stored.Vector(o)
		if err != nil || len(vectors) == 0 {
			return nil, err
		}
		if dim < 1 || len(vectors) < len(tokenWords)*dim {
			return nil, fmt.Errorf(
				"passage %s has %d tokens, and %d numbers of vectors of %d", wording.Quote(p.ID), len(tokenWords),
				len(vectors), dim,
			)
		}
		if usual == nil {
			usual = matchByChance(stored, view.Passages().Sample(content.RandomPassages), question, dim)
			tells = x.contentWords.Filter(ctx, view, asked)
		}
		found := Highlights(p, tokenWords, question, vectors, dim, usual.matchThresholds(o))
		return slices.DeleteFunc(found, func(h reply.Highlight) bool {
			return !tells(&p, h.Field, h.Start, h.End)
		}), nil
	}
}

// Highlights returns the words of a passage that the tokens of a question match best, with scores: those of the title
// first, then in the order of the text. Each token of the question adds its greatest inner product to the word of the
// passage's token that has it, the first of equals. It adds nothing if that does not exceed least of the token; least
// nil: no minimum. words[i] is the word of the passage's i-th token; question and vectors hold one vector of dim
// numbers for each token.
func Highlights(
	p corpus.Passage,
	words []learned.Word,
	question, vectors []float32,
	dim int,
	least []float32,
) []reply.Highlight {
	scores := map[learned.Word]float64{}
	for token := 0; len(question) >= dim; question, token = question[dim:], token+1 {
		best := float32(0)
		at := -1
		for i := range words {
			if s := InnerProduct(question[:dim], vectors[i*dim:(i+1)*dim]); at < 0 || s > best {
				best, at = s, i
			}
		}
		if least == nil || best > least[token] {
			scores[words[at]] += float64(best)
		}
	}
	out := make([]reply.Highlight, 0, len(scores))
	for word, score := range scores {
		h := reply.Highlight{Field: "text", Start: word.Begin, End: word.End, Score: run.Printed(score)}
		if word.InTitle {
			h.Field = "title"
		}
		h.Trim(content.FieldOf(&p, h.Field))
		if h.Start < h.End && score > 0 {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b reply.Highlight) int {
		return cmp.Or(-cmp.Compare(a.Field, b.Field), cmp.Compare(a.Start, b.Start)) // the title first
	})
	return out
}
