package bm25

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/rank"
)

// MaxCode is the largest weight of a term in a passage under the analysis Weighted, in whole numbers from 1.
const MaxCode = 255

// WeightedTerm is a term of a question under the analysis Weighted, by its number, and its weight in the question.
type WeightedTerm struct {
	ID     uint32
	Weight float32 // what a code of 1 adds to a passage's score; at least 0
}

// AddWeighted indexes the next passage, given as numbers of terms, ascending, with a code of 1 to MaxCode each, as a
// learned sparse encoder makes them. It fails for other input, if phrases are indexed, and with any analysis but
// Weighted. After a failed spill nothing more can be added.
func (b *Builder) AddWeighted(ids []uint32, codes []uint8) error {
	switch {
	case b.err != nil:
		return b.err
	case b.params.Analysis != forms.Weighted || b.params.Phrases:
		return fmt.Errorf("terms with weights need the analysis %s, without phrases", forms.Weighted)
	case len(ids) != len(codes):
		return fmt.Errorf("%d terms with %d codes", len(ids), len(codes))
	case len(b.lengths) >= maxPassages:
		return fmt.Errorf("a segment holds at most %d passages: start another one", maxPassages)
	}
	passage := uint32(len(b.lengths))
	for i, id := range ids {
		if codes[i] == 0 || i > 0 && id <= ids[i-1] {
			return fmt.Errorf("term %d with code %d behind term %d", id, codes[i], ids[max(i-1, 0)])
		}
		number := b.number([]byte(weightedTerm(id)))
		t := &b.terms[number]
		t.tf = uint32(codes[i])
		b.post(t, passage, 1)
	}
	b.lengths = append(b.lengths, uint32(min(len(ids), 1)))
	if b.memory > 0 && b.size() > b.memory || b.arena.full() {
		b.err = b.spill(context.Background())
	}
	return b.err
}

// weightedTerm returns the text of a numbered term: the number in base 36. id is that number.
func weightedTerm(id uint32) string { return strconv.FormatUint(uint64(id), 36) }

// SearchWeighted returns the k selected passages with the highest scores for weighted terms, the best first, and
// equal ones by the lower ordinal (but see OrderTies). A passage's score is the sum of ScoreWeighted over the terms,
// in the order of SortWeighted, in 64 bits and rounded to 32; one without any of the terms is no hit. It fails if the
// index has another analysis, k is below 1, the selection is of another number of segments, the index is damaged, or
// ctx ends.
func (s *Searcher) SearchWeighted(
	ctx context.Context,
	terms []WeightedTerm,
	k int,
	among Selection,
) ([]rank.Hit, error) {
	switch {
	case s.params.Analysis != forms.Weighted && len(s.segments) > 0:
		return nil, fmt.Errorf("the words were analysed as %s, and have no weights", s.params.Analysis)
	case among != nil && len(among) != len(s.segments):
		return nil, fmt.Errorf("the selection is of %d segments and there are %d", len(among), len(s.segments))
	case k < 1:
		return nil, fmt.Errorf("k is %d: it must be at least 1", k)
	}
	var u understood
	for _, t := range SortWeighted(terms) {
		q := questionTerm{text: weightedTerm(t.ID), count: 1, weight: t.Weight}
		var err error
		q.df, err = s.countDocuments(&q)
		if err != nil {
			return nil, err
		}
		if q.df > 0 {
			u.terms = append(u.terms, q)
		}
	}
	if u.findsNothing() {
		return nil, context.Cause(ctx)
	}
	w := s.takeScratch()
	w.stats = &searchStats{}
	hits, err := s.searchTerms(ctx, &u, w, k, among)
	s.giveBack(w) // not after a panic, which leaves sums behind
	return hits, err
}

// SortWeighted returns a copy of the terms with a weight above 0, in the order in which scores add them up: by
// descending weight, then by the text of their numbers in base 36.
func SortWeighted(terms []WeightedTerm) []WeightedTerm {
	out := slices.DeleteFunc(slices.Clone(terms), func(t WeightedTerm) bool { return !(t.Weight > 0) })
	slices.SortFunc(out, func(x, y WeightedTerm) int {
		return cmp.Or(cmp.Compare(y.Weight, x.Weight), strings.Compare(weightedTerm(x.ID), weightedTerm(y.ID)))
	})
	return out
}

// ScoreWeighted returns what a term of this weight adds to the score of a passage that has it with this code.
func ScoreWeighted(weight float32, code uint8) float64 { return float64(weight * float32(code)) }
