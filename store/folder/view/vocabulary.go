package view

import (
	"context"
	"unicode/utf8"

	"example.org/conclave/internal/spelling"
	"example.org/conclave/search/storage"
	"example.org/conclave/store/folder"
)

// Vocabulary returns the words of the generation, for spelling correction.
func (v pinnedView) Vocabulary() storage.Vocabulary { return vocabulary(v) }

type vocabulary struct{ generation *folder.Generation }

// Look returns for each word, in lower case, whether the collection has it and, if not, which of its words are few
// edits away, the most frequent first. It fails if the files of words are damaged or ctx ends.
func (v vocabulary) Look(ctx context.Context, words []string) ([]storage.Spelling, error) {
	out := make([]storage.Spelling, len(words))
	for i, word := range words {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		out[i], err = v.look(word)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// look returns whether a word is known, which a stop word always is, and if not, the words of the collection within
// spelling.MostEdits of a word that is one letter longer. It fails if the files of words are damaged.
func (v vocabulary) look(word string) (s storage.Spelling, err error) {
	passages, term, err := v.generation.Frequency(word)
	s.Known = passages > 0 || !term
	if err != nil || s.Known {
		return s, err
	}
	s.Near, err = v.generation.Near(word, spelling.MostEdits(utf8.RuneCountInString(word)+1))
	return s, err
}

// Beginning returns at most so many words (most) that begin with prefix and are longer, the most frequent first. It
// fails if the files of words are damaged.
func (v vocabulary) Beginning(_ context.Context, prefix string, most int) ([]spelling.Candidate, error) {
	return v.generation.Beginning(prefix, most)
}

// NeighbourShares returns two shares, from 0 to 1, for each word, in order: of the passages that have the word before
// it, those in which the two stand side by side, and the same for the word after it. Both are 0 if the collection
// indexes no phrases. It fails if the index of words is damaged.
func (v vocabulary) NeighbourShares(_ context.Context, placed []storage.WordInContext) ([]storage.Neighbours, error) {
	out := make([]storage.Neighbours, len(placed))
	for i, p := range placed {
		var err error
		out[i].Before, out[i].After, err = v.generation.AdjacentShares(p.Before, p.Word, p.After)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
