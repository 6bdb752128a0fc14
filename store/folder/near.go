package folder

import (
	"fmt"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/rank"
)

// NearScores writes to out, which has to be as long as passages, how near the words of a question stand in each
// passage (bm25.Nearness). It fails if a passage is deleted or does not exist, or if a file is damaged; out then has
// the scores of the passages before.
func (w *WordIndex) NearScores(question string, passages []rank.Ordinal, out []float32) error {
	near, err := w.Nearness(question)
	if err != nil {
		return err
	}
	defer w.KeepNearness(near)
	for i, o := range passages {
		title, text, err := w.generation.titleAndText(o)
		if err != nil {
			return err
		}
		out[i] = near.Score(title, text)
	}
	return nil
}

// NearTerms returns the terms of the question that count towards a passage's score of NearScores, which is the sum of
// their idf. It fails if the passage is deleted or does not exist, or if a file is damaged.
func (w *WordIndex) NearTerms(question string, passage rank.Ordinal) ([]bm25.NearTerm, error) {
	near, err := w.Nearness(question)
	if err != nil {
		return nil, err
	}
	defer w.KeepNearness(near)
	title, text, err := w.generation.titleAndText(passage)
	if err != nil {
		return nil, err
	}
	return near.Terms(title, text), nil
}

// titleAndText returns the title and the text of a passage, in memory that is valid until the generation is released.
// It fails if the passage is deleted, there is none of this ordinal, or the file is damaged.
func (g *Generation) titleAndText(ordinal rank.Ordinal) (title, text []byte, err error) {
	if g.Deleted(ordinal) {
		return nil, nil, fmt.Errorf("passage number %d is deleted", ordinal)
	}
	s, o, err := g.locate(ordinal)
	if err != nil {
		return nil, nil, err
	}
	return s.store.Texts(o)
}
