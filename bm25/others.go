package bm25

import (
	"math/bits"
	"slices"

	"example.org/conclave/bm25/forms"
)

// otherTerms is a variant of a question's terms (forms.Variant) of which some passage has a form.
type otherTerms struct {
	forms.Variant
	terms []questionTerm // those of the question that passages have
	forms []questionTerm // the forms that passages have; weights are of the forms
}

// weight returns the greatest weight of the variant's forms.
func (o *otherTerms) weight() (most float32) {
	for _, f := range o.forms {
		most = max(most, f.weight)
	}
	return most
}

// otherForms returns the variants of a question's terms of which some passage has a form; nil with the analysis Lucene.
// terms are the question's terms that passages have. It fails if the index is damaged.
func (s *Searcher) otherForms(r *forms.Reading, terms []questionTerm) (out []otherTerms, err error) {
	if !r.Analyser.Forms {
		return nil, nil
	}
	find := r.Variants
	if s.phrases {
		find = r.PhraseVariants
	}
	var known []questionTerm // forms that passages have
	variants, err := find(func(term string) (bool, error) {
		f, err := s.lookupForm(term)
		if f.records == nil || err != nil {
			return false, err
		}
		known = append(known, f)
		return true, nil
	})
	if err != nil || len(variants) == 0 {
		return nil, err
	}
	out = make([]otherTerms, 0, len(variants))
	rarest := IDF(0, uint64(s.statistics.withTerms))
	for _, v := range variants {
		o := otherTerms{Variant: v}
		for _, entry := range v.Entries {
			var f questionTerm
			if i := slices.IndexFunc(known, func(f questionTerm) bool { return f.text == entry }); i >= 0 {
				f = known[i]
			} else {
				f.text = entry
				f.df, err = s.countDocuments(&f)
				if err != nil {
					return nil, err
				}
			}
			f.idf = IDF(f.df, uint64(s.statistics.withTerms))
			f.count = v.Count
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

// boost returns the factor by which a form's idf is multiplied for its weight (Variant.Boost). rarest is the idf of a
// term that no passage has, which terms of the variant that are in no passage count as.
func (o *otherTerms) boost(idf, rarest float32) float32 {
	own := float32(len(o.Of)-len(o.terms)) * rarest
	for _, t := range o.terms {
		own += t.idf
	}
	return o.Boost(own, idf)
}

// otherCursors read the postings of a variant in one segment.
type otherCursors struct {
	variant *otherTerms
	forms   []*cursor // of its forms; nil where the segment has none
	terms   []*cursor // of its terms
}

// closeOthers puts the cursors of w.others back into the pool and empties w.others.
func (w *scratch) closeOthers() {
	for i := range w.others {
		o := &w.others[i]
		for _, c := range o.forms {
			if c != nil {
				w.pool = append(w.pool, c)
			}
		}
		w.pool = append(w.pool, o.terms...)
		o.variant = nil
		o.forms = o.forms[:0]
		o.terms = o.terms[:0]
	}
	w.others = w.others[:0]
}

// nextOther appends an empty element for a variant to w.others, in memory used before, and returns it.
func (w *scratch) nextOther(variant *otherTerms) *otherCursors {
	n := len(w.others)
	if n == cap(w.others) {
		w.others = append(w.others, otherCursors{})
	}
	w.others = w.others[:n+1]
	o := &w.others[n]
	o.variant = variant
	return o
}

// openOthers replaces w.others by the variants of which the segment has a form, with cursors on the postings of the
// forms and of the terms that they stand for. at is the segment's index in questionTerm.records. It fails if the
// postings are damaged.
func (w *scratch) openOthers(g *segment, u *understood, at int) error {
	w.closeOthers()
	for i := range u.others {
		variant := &u.others[i]
		if !slices.ContainsFunc(variant.forms, func(f questionTerm) bool { return f.records[at].df > 0 }) {
			continue
		}
		o := w.nextOther(variant)
		for _, f := range variant.forms {
			if f.records[at].df == 0 {
				o.forms = append(o.forms, nil)
				continue
			}
			c := w.takeCursor()
			o.forms = append(o.forms, c)
			if err := c.reset(g.Index, g.scale, f.records[at], f.weight); err != nil {
				return err
			}
		}
		for _, t := range variant.terms {
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

// gain returns how much the variant adds to a passage's score beyond its terms, at least 0, the index of the form
// that adds it, and how often the passage has that form. All are 0 if the passage has no form. Passages must ascend
// from call to call. It returns a *DamageError for a damaged block.
func (o *otherCursors) gain(passage uint32) (more float64, best, tf int, err error) {
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
				more = score
				best = i
				tf = int(c.index.impacts[rank].tf)
			}
		}
	}
	if more > 0 {
		var own float64
		own, err = o.ownScore(passage)
		if err == nil {
			more = max(0, more-own)
		}
	}
	return more, best, tf, err
}

// ownScore returns what the variant's own terms add to a passage's score. Passages must ascend from call to call. It
// returns a *DamageError for a damaged block.
func (o *otherCursors) ownScore(passage uint32) (sum float64, err error) {
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

// boundOthers returns the most that other forms add to a passage of a window. left is false if they have no postings
// in the window or after it. The window goes from passage from up to, but not including, to.
func (w *scratch) boundOthers(from, to uint32) (most float64, left bool) {
	for i := range w.others {
		o := &w.others[i]
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

// formScore is what the best form of a variant adds to the score of a passage of the window that has none of
// the variant's terms.
type formScore struct {
	at      uint16
	variant uint32 // index in scratch.others
	score   float64
}

// findOthers appends to w.found an element for each variant and each selected passage of a window that has a form of
// it, with the most that one of these forms adds, and adds that to w.more. forgetOthers undoes this, also after an
// error, when w.found may have some of them. The window goes from passage from up to, but not including, to.
func (w *scratch) findOthers(from, to uint32) error {
	for variant := range w.others {
		some := false
		for _, c := range w.others[variant].forms {
			if c == nil || c.block >= c.record.blocks || c.decoded && c.place < c.n && c.passages[c.place] >= to {
				continue
			}
			some = true
			if err := w.raiseForms(c, from, to); err != nil {
				clear(w.forms[:])
				clear(w.formed[:])
				return err // the caller forgets what was found
			}
		}
		if !some {
			continue
		}
		for i, word := range w.formed {
			if word == 0 {
				continue
			}
			w.formed[i] = 0
			selected := w.selection(from, i)
			for ; word != 0; word &= word - 1 {
				at := 64*i + bits.TrailingZeros64(word)
				if selected>>(at%64)&1 != 0 {
					w.found = append(w.found, formScore{uint16(at), uint32(variant), w.forms[at]})
					w.more[at] += w.forms[at]
				}
				w.forms[at] = 0
			}
		}
	}
	return nil
}

// touchOthers marks the passages of w.found in w.touched.
func (w *scratch) touchOthers() {
	for _, f := range w.found {
		w.touched[f.at/64] |= 1 << (f.at % 64)
	}
}

// addOthers adds to w.sums what other forms add beyond the terms, and marks these passages in w.touched. It looks up
// what the terms add only for passages that can exceed the threshold. All terms must have been added to their sums
// before. It fails with a *DamageError. from is the first passage of the window.
func (w *scratch) addOthers(from uint32) error {
	threshold := float64(w.best.threshold)
	for _, f := range w.found {
		if w.sums[f.at]+w.more[f.at] <= threshold {
			continue
		}
		own, err := w.others[f.variant].ownScore(from + uint32(f.at))
		if err != nil {
			return err
		}
		if f.score > own {
			w.sums[f.at] += f.score - own
			w.touched[f.at/64] |= 1 << (f.at % 64)
		}
	}
	return nil
}

// forgetOthers empties w.found and sets w.more of its passages to 0.
func (w *scratch) forgetOthers() {
	for _, f := range w.found {
		w.more[f.at] = 0
	}
	w.found = w.found[:0]
}

// raiseForms raises w.forms, for each passage of a window that has a form, to what the form adds to its score if that
// is more, and marks the passage in w.formed. It leaves the cursor after the window. It fails with a *DamageError. The
// window goes from passage from up to, but not including, to.
func (w *scratch) raiseForms(c *cursor, from, to uint32) error {
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
