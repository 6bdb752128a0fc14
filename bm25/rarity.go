package bm25

import (
	"slices"
	"strings"
)

// Rarity is a distinct term of a text, and how rare it is in the collection.
type Rarity struct {
	Term  string // as analysed
	Count int    // how often the text has it
	DF    int    // passages that have it, or if there are none, in another form
	IDF   float32
	// Relative is IDF divided by that of a term that no passage has.
	Relative float64
}

// Rarities returns the distinct terms of a text, with those that no passage has, in the order of their bytes; nil for
// a text without terms. The number of passages of a term is that of another form if more passages have that. A
// searcher of phrases returns the phrases. It fails if an index is damaged.
func (s *Searcher) Rarities(text string) ([]Rarity, error) {
	u, err := s.understand(text)
	if err != nil {
		return nil, err
	}
	known := map[string]questionTerm{}
	for _, t := range slices.Concat(u.terms, u.unknown) {
		known[t.text] = t
	}
	for _, o := range u.others {
		for _, f := range o.forms {
			if len(o.Of) == 1 && f.df > known[o.Of[0]].df {
				t := known[o.Of[0]]
				t.df = f.df
				known[t.text] = t
			}
		}
	}
	terms := slices.Concat(u.terms, u.unknown)
	slices.SortFunc(terms, func(x, y questionTerm) int { return strings.Compare(x.text, y.text) })
	n := uint64(s.statistics.withTerms)
	var out []Rarity
	for _, t := range terms {
		df := known[t.text].df
		out = append(
			out,
			Rarity{
				Term:     t.text,
				Count:    t.count,
				DF:       int(df),
				IDF:      IDF(df, n),
				Relative: float64(IDF(df, n)) / float64(IDF(0, n)),
			},
		)
	}
	return out, nil
}
