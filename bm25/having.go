package bm25

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/normalise"
)

// Having returns a bitmap of the passages of one segment, by its index, that have all terms of a text, deleted passages
// included: bit i%64 of word i/64 stands for passage i. If the text has several terms and phrases are indexed, the
// passages have all the text's phrases as well. A text of one word also selects passages with another form of it, such
// as wi-fi for wifi. The bitmap is nil if the text has no terms. It fails for a damaged index.
func (s *Searcher) Having(segment int, text string) ([]uint64, error) {
	terms := s.params.Analysis.Terms(text)
	if len(terms) == 0 {
		return nil, nil
	}
	g := s.segments[segment]
	var records []termRecord
	for _, term := range terms {
		r, err := g.Index.lookup([]byte(term))
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	u, err := s.understand(text)
	if err != nil {
		return nil, err
	}
	if s.params.Phrases {
		for _, phrase := range forms.PhrasesOf(terms) {
			r, err := s.lookup(g.Index, []byte(phrase))
			if err != nil {
				return nil, err
			}
			records = append(records, r)
		}
	}
	out := make([]uint64, (uint64(g.Index.passages)+63)/64)
	having := make([]uint64, len(out))
	for i, r := range records {
		clear(having)
		if err := g.mark(r, having); err != nil {
			return nil, err
		}
		for at := range out {
			if i == 0 {
				out[at] = having[at]
			} else {
				out[at] &= having[at]
			}
		}
	}
	if WordingOf(text).Words() > 1 {
		return out, nil
	}
	for _, other := range u.others { // of one word, such as wi-fi for wifi
		for _, form := range other.forms {
			if err := g.mark(form.records[segment], out); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// mark sets the bits of the segment's passages that have a term or a phrase, deleted ones too; none if r.df is 0. It
// fails if the postings are damaged.
func (g *segment) mark(r termRecord, bits []uint64) error {
	if r.df == 0 {
		return nil
	}
	c := &cursor{}
	if err := c.reset(g.Index, g.scale, r, 0); err != nil {
		return err
	}
	for ; c.block < r.blocks; c.block++ {
		if err := c.decode(); err != nil {
			return err
		}
		for _, passage := range c.passages[:c.n] {
			bits[passage/64] |= 1 << (passage % 64)
		}
	}
	return nil
}

// A Wording is one or more words to look for in texts (In). Case, white space and the punctuation
// between words make no difference.
type Wording struct {
	form  string
	words int
}

// WordingOf returns the wording of a text: one word, or several that must follow each other.
func WordingOf(text string) Wording {
	form := wordingOf(text)
	return Wording{form, strings.Count(form, " ") - 1}
}

// Words returns the number of words.
func (w Wording) Words() int { return max(w.words, 0) }

// Exact reports whether a text must be compared (In), since a passage may have the wording's terms but not the wording:
// it has several words, or signs that are no letters.
func (w Wording) Exact() bool {
	return w.words > 1 || strings.ContainsFunc(w.form, func(r rune) bool { return r != ' ' && !unicode.IsLetter(r) })
}

// In reports whether a text has the wording's words, one right after the other. It is false for a wording without
// words.
func (w Wording) In(text string) bool {
	return w.words > 0 && strings.Contains(wordingOf(text), w.form)
}

// wordingOf returns the words of a text in lower case, with one space before and after each; " " if there is none.
// Punctuation separates words, but an apostrophe is left out.
func wordingOf(text string) string {
	text = normalise.Words(text)
	out := make([]byte, 0, len(text)+2)
	gap := true
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("+#&@_%$€", r) {
			if gap {
				out = append(out, ' ')
			}
			out = utf8.AppendRune(out, unicode.ToLower(r))
			gap = false
		} else {
			gap = r != '\'' && r != '’' // don't is dont
		}
	}
	return string(append(out, ' '))
}
