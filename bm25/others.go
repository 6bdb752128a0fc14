package bm25

import (
	"math/bits"
	"slices"
)

// otherTerms is a variant of which some passage has a form.
type otherTerms struct {
	Variant
	terms []questionTerm // those of the question that passages have
	forms []questionTerm // the forms that passages have; weights are of the forms
}

// weight is the most that a form adds.
func (o *otherTerms) weight() (most float32) {
	for _, f := range o.forms {
		most = max(most, f.weight)
	}
	return most
}

// otherForms looks up the other forms of a question's terms, of which those are given that
// passages have.
func (s *Searcher) otherForms(question string, terms []questionTerm) (out []otherTerms, err error) {
	variants := s.params.Analysis.Variants
	if s.phrases {
		variants = s.params.Analysis.phraseVariants
	}
	rarest := IDF(0, uint64(s.statistics.withTerms))
	for _, v := range variants(question) {
		o := otherTerms{Variant: v}
		for _, entry := range v.Entries {
			f := questionTerm{text: entry, count: v.Count}
			if err := s.weigh(&f); err != nil {
				return nil, err
			}
			if f.df > 0 {
				o.forms = append(o.forms, f)
			}
		}
		if o.forms == nil {
			continue
		}
		for _, t := range terms {
			if slices.Contains(v.Of, t.text) {
				o.terms = append(o.terms, t)
			}
		}
		for i := range o.forms {
			f := &o.forms[i]
			f.weight = o.boost(f.idf, rarest) * f.idf
		}
		out = append(out, o)
	}
	return out, nil
}

// boost is Boost with what is known of the terms. rarest is the rarity of a term that no
// passage has.
func (o *otherTerms) boost(idf, rarest float32) float32 {
	own := float32(len(o.Of)-len(o.terms)) * rarest
	for _, t := range o.terms {
		own += t.idf
	}
	return o.Boost(own, idf)
}

// otherCursors read the postings of a variant in one segment.
type otherCursors struct {
	of    *otherTerms
	forms []*cursor // of its forms; nil where the segment has none
	terms []*cursor // of its terms
}

// closeOthers gives the cursors back.
func (w *scratch) closeOthers() {
	for _, o := range w.others {
		for _, c := range slices.Concat(o.forms, o.terms) {
			if c != nil {
				w.spare = append(w.spare, c)
			}
		}
	}
	w.others = w.others[:0]
}

// openOthers sets cursors to the beginning of all postings of other forms that a segment
// has, and of the terms that they stand for.
func (w *scratch) openOthers(g *segment, u *understood, at int) error {
	w.closeOthers()
	for i := range u.others {
		of := &u.others[i]
		if !slices.ContainsFunc(of.forms, func(f questionTerm) bool { return f.records[at].df > 0 }) {
			continue
		}
		o := &otherCursors{of: of, forms: make([]*cursor, len(of.forms))}
		w.others = append(w.others, o)
		for j, f := range of.forms {
			if f.records[at].df == 0 {
				continue
			}
			o.forms[j] = w.takeCursor()
			if err := o.forms[j].reset(g.Index, g.scale, f.records[at], f.weight); err != nil {
				return err
			}
		}
		for _, t := range of.terms {
			if t.records[at].df == 0 {
				continue
			}
			c := w.takeCursor()
			o.terms = append(o.terms, c)
			if err := c.resetToFind(g.Index, g.scale, t.records[at], t.weight); err != nil {
				return err
			}
		}
	}
	return nil
}

// more is what other forms add to a passage's score, the place of the form that adds it,
// and how often the passage has that. Passages have to come in ascending order.
func (o *otherCursors) more(passage uint32) (more float64, best, tf int, err error) {
	for i, c := range o.forms {
		if c == nil {
			continue
		}
		rank, ok, err := c.find(passage)
		if err != nil {
			return 0, 0, 0, err
		}
		if ok {
			if score := c.scoreOf(rank); score > more {
				more, best, tf = score, i, int(c.index.impacts[rank].tf)
			}
		}
	}
	if more > 0 {
		var own float64
		if own, err = o.own(passage); err == nil {
			more = max(0, more-own)
		}
	}
	return more, best, tf, err
}

// own is what the variant's terms add to a passage's score.
func (o *otherCursors) own(passage uint32) (sum float64, err error) {
	for _, c := range o.terms {
		rank, ok, err := c.find(passage)
		if err != nil {
			return 0, err
		}
		if ok {
			sum += c.scoreOf(rank)
		}
	}
	return sum, nil
}

// boundOthers is the most that other forms add to a passage of a window, and whether there
// are postings of any in it or behind it.
func (w *scratch) boundOthers(from, to uint32) (most float64, left bool) {
	for _, o := range w.others {
		high := 0.0
		for _, c := range o.forms {
			if c != nil {
				c.skipTo(from)
				high = max(high, c.bound(to))
				left = left || c.block < c.record.blocks
			}
		}
		most += high
	}
	return most, left
}

// addOthers adds to the sums of a window's passages what other forms add.
func (w *scratch) addOthers(from, to uint32) error {
	for _, o := range w.others {
		for _, c := range o.forms {
			if c == nil {
				continue
			}
			if err := w.highest(c, from, to); err != nil {
				return err
			}
		}
		for i, word := range w.formed {
			if word == 0 {
				continue
			}
			selected := w.selection(from, i)
			for ; word != 0; word &= word - 1 {
				at := 64*i + bits.TrailingZeros64(word)
				score := w.forms[at]
				w.forms[at] = 0
				if selected>>(at%64)&1 == 0 {
					continue
				}
				own, err := o.own(from + uint32(at))
				if err != nil {
					clear(w.forms[:])
					clear(w.formed[:])
					return err
				}
				if score > own {
					w.sums[at] += score - own
					w.touched[i] |= 1 << (at % 64)
				}
			}
			w.formed[i] = 0
		}
	}
	return nil
}

// highest raises forms to the scores of a form's postings in a window.
func (w *scratch) highest(c *cursor, from, to uint32) error {
	raise := func(passage uint32, score float64) {
		at := passage & windowMask
		w.forms[at] = max(w.forms[at], score)
		w.formed[at/64] |= 1 << (at % 64)
	}
	for {
		end, ok, err := w.nextPostings(c, from, to)
		if !ok {
			return err
		}
		if c.wide {
			if err := c.eachScore(end, raise); err != nil {
				return err
			}
		} else {
			for i := c.place; i < end; i++ {
				raise(c.passages[i], c.scores[c.codes[i]])
			}
		}
		c.place = end
	}
}
