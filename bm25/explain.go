package bm25

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/rank"
)

// Scores writes the score of each passage to out, which must be as long as ordinals: the same, to the last bit, as
// Search gives, and 0 for a passage without a term of the question. Ordinals may come in any order. It fails with
// errNoPassage if a passage is deleted or does not exist, and with a *DamageError; out then means nothing.
func (s *Searcher) Scores(question string, ordinals []rank.Ordinal, out []float32) error {
	if len(ordinals) != len(out) {
		return fmt.Errorf("%d passages are to be scored into room for %d", len(ordinals), len(out))
	}
	u, err := s.understand(question)
	if err != nil {
		return err
	}
	type wanted struct {
		passage uint32
		at      int // place in out
	}
	bySegment := make(map[*segment][]wanted)
	for i, o := range ordinals {
		g, passage, err := s.locate(o)
		if err != nil {
			return err
		}
		bySegment[g] = append(bySegment[g], wanted{passage, i})
		out[i] = 0
	}
	if u.findsNothing() {
		return nil
	}
	c := &cursor{}
	var sums []float64
	w := s.takeScratch()
	defer s.giveBack(w)
	for i, g := range s.segments {
		list := bySegment[g]
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, func(a, b wanted) int { return cmp.Compare(a.passage, b.passage) })
		sums = append(sums[:0], make([]float64, len(list))...)
		for _, t := range u.terms {
			if t.records[i].df == 0 {
				continue
			}
			if err := c.reset(g.Index, g.scale, t.records[i], t.weight); err != nil {
				return err
			}
			for j, w := range list {
				rank, ok, err := c.find(w.passage)
				if err != nil {
					return err
				}
				if ok {
					sums[j] += c.scoreOf(rank)
				}
			}
		}
		if err := w.openOthers(g, u, i); err != nil {
			return err
		}
		for _, o := range w.others {
			for j, at := range list {
				more, _, _, err := o.gain(at.passage)
				if err != nil {
					return err
				}
				sums[j] += more
			}
		}
		for j, w := range list {
			out[w.at] = float32(sums[j])
		}
	}
	return nil
}

// TermScore is one term of the sum that a score is.
type TermScore struct {
	Term  string  // as analysed
	Count int     // how often the question has it
	TF    int     // how often the passage has it
	DF    int     // passages that have it
	IDF   float32 // ln(1 + (N − DF + 0.5)/(DF + 0.5))
	Score float32 // what the term adds to the passage's score (see Params)
	// For are the question's terms, with spaces between them, of which Term is another form
	// that the passage has. Score is then what it adds beyond what they do; "": Term is the
	// question's own.
	For string
}

// Explain returns the terms that a passage's score is the sum of, in the order in which they are added, and then the
// other forms of terms. It is empty for a passage without a term of the question. It fails with errNoPassage if the
// passage is deleted or does not exist.
func (s *Searcher) Explain(question string, ordinal rank.Ordinal) (out []TermScore, err error) {
	g, passage, err := s.locate(ordinal)
	if err != nil {
		return nil, err
	}
	u, err := s.understand(question)
	if err != nil {
		return nil, err
	}
	at := slices.Index(s.segments, g)
	c := &cursor{}
	for _, t := range u.terms {
		if t.records[at].df == 0 {
			continue
		}
		if err := c.reset(g.Index, g.scale, t.records[at], t.weight); err != nil {
			return nil, err
		}
		rank, ok, err := c.find(passage)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, TermScore{
				Term: t.text, Count: t.count, TF: int(g.Index.impacts[rank].tf), DF: int(t.df),
				IDF: t.idf, Score: float32(c.scoreOf(rank)),
			})
		}
	}
	w := s.takeScratch()
	defer s.giveBack(w)
	if err := w.openOthers(g, u, at); err != nil {
		return nil, err
	}
	for _, o := range w.others {
		more, best, tf, err := o.gain(passage)
		if err != nil {
			return nil, err
		}
		if more > 0 {
			f := o.variant.forms[best]
			out = append(out, TermScore{
				Term: strings.TrimPrefix(f.text, forms.FormMark), For: strings.Join(o.variant.Of, " "),
				Count: o.variant.Count, TF: tf, DF: int(f.df), IDF: f.idf, Score: float32(more),
			})
		}
	}
	return out, nil
}
