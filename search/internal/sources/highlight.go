package sources

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/storage"
)

// A Highlight is a word of a passage that tokens of the question matched best in late
// interaction, or the part by which an expert with parts scored the passage.
type Highlight struct {
	Field string `json:"field"` // "title" or "text"
	Start int    `json:"start"` // in what Request.Offsets counts
	End   int    `json:"end"`
	// Score is what the tokens that matched it by more than chance add to late interaction's score, or the
	// part's own.
	Score float64 `json:"score"`
}

// highlighter finds the words of passages that a question's tokens match best, of those
// that the passage has by more than chance and that carry something; nil where the index
// or the encoder cannot say.
func (x *late) highlighter(
	ctx context.Context,
	view *snapshot.Pinned,
	index storage.VectorIndex,
	asked string,
	question []float32,
) func(rank.Ordinal, corpus.Passage) ([]Highlight, error) {
	stored, ok := index.(storage.TokenVectors)
	words, also := x.Model.Passages.(PassageWords)
	if !ok || !also {
		return nil
	}
	dim := x.Model.Info.Dimension
	var usual *chanceMatches // of the question, when it is first needed
	var tells func(p *corpus.Passage, field string, start, end int) bool
	return func(o rank.Ordinal, p corpus.Passage) ([]Highlight, error) {
		of, err := words.PassageWords(p)
		if err != nil || len(of) == 0 {
			return nil, err
		}
		vectors, err := stored.Vector(o)
		if err != nil {
			return nil, err
		}
		if dim < 1 || len(vectors) < len(of)*dim {
			return nil, fmt.Errorf(
				"passage %s has %d tokens, and %d numbers of vectors of %d",
				wording.Quote(p.ID),
				len(of),
				len(vectors),
				dim,
			)
		}
		if usual == nil {
			usual = matchByChance(stored, view.Passages().Sample(content.RandomPassages), question, dim)
			tells = x.contentWords.Filter(ctx, view, asked)
		}
		found := Highlights(p, of, question, vectors, dim, usual.thresholds(o))
		return slices.DeleteFunc(found, func(h Highlight) bool {
			return !tells(&p, h.Field, h.Start, h.End)
		}), nil
	}
}

// Highlights gives each token of the question to the token of the passage with the
// greatest inner product, the first of equals, and its score to that one's word, where it
// is no less than least has for the token; nil: whatever it is.
func Highlights(p corpus.Passage, of []Word, question, vectors []float32, dim int, least []float32) []Highlight {
	scores := map[Word]float64{}
	for token := 0; len(question) >= dim; question, token = question[dim:], token+1 {
		best := float32(0)
		at := -1
		for i := range of {
			if s := InnerProduct(question[:dim], vectors[i*dim:(i+1)*dim]); at < 0 || s > best {
				best, at = s, i
			}
		}
		if least == nil || best > least[token] {
			scores[of[at]] += float64(best)
		}
	}
	out := make([]Highlight, 0, len(scores))
	for word, score := range scores {
		h := Highlight{Field: "text", Start: word.Begin, End: word.End, Score: run.Printed(score)}
		if word.InTitle {
			h.Field = "title"
		}
		h.trim(content.FieldOf(&p, h.Field))
		if h.Start < h.End && score > 0 {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b Highlight) int {
		return cmp.Or(-cmp.Compare(a.Field, b.Field), cmp.Compare(a.Start, b.Start)) // the title first
	})
	return out
}

// trim leaves out what is around a word and is no part of it: brackets, a full stop.
func (h *Highlight) trim(text string) {
	part := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }
	for h.Start < h.End {
		r, size := utf8.DecodeRuneInString(text[h.Start:h.End])
		if part(r) {
			break
		}
		h.Start += size
	}
	for h.Start < h.End {
		r, size := utf8.DecodeLastRuneInString(text[h.Start:h.End])
		if part(r) {
			break
		}
		h.End -= size
	}
}
