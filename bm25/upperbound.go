package bm25

import (
	"maps"
	"slices"

	"example.org/conclave/bm25/forms"
)

// UpperBound returns a score that no passage exceeds for the question: the sum of the weights of all its terms, as if
// a passage had each endlessly often; 0 for a question without terms. Terms that no passage has count too, as the
// rarest of all. So the highest score divided by it is the share of the question that the words found, between 0 and
// 1, which can be compared between collections where scores cannot. A term that no passage has, except in another
// form, has the weight of that form. It fails if an index is damaged.
func (s *Searcher) UpperBound(question string) (float64, error) {
	u, err := s.understand(question)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	weights := map[string]float64{}
	for _, t := range u.terms {
		weights[t.text] = float64(t.count) * float64(t.idf)
	}
	for _, t := range u.unknown {
		if !slices.ContainsFunc(u.others, func(o otherTerms) bool { return slices.Contains(o.Of, t.text) }) {
			weights[t.text] = float64(t.count) * float64(t.idf)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(weights)) { // the same sum each time
		sum += weights[text]
	}
	for _, o := range u.others {
		own := 0.0
		for _, text := range o.Of {
			own += weights[text]
		}
		sum += max(0, float64(o.weight())-own)
	}
	return sum, nil
}

// strengths holds, for one segment, the strength of each impact (see
// Params.strength) under the statistics of the whole collection.
type strengths struct {
	ofCode [256]float32 // 0 where no impact has the code
	ofRank []float32
	most   []float32 // by rank: the largest of any impact of this rank or a lower one
	linear bool      // a posting adds weight · strength (Weighted), in the place of termScore
}

// score returns what a posting of this strength adds to a score, for a term of this weight.
func (s *strengths) score(weight, strength float32) float64 {
	if s.linear {
		return float64(weight * strength)
	}
	return termScore(weight, strength)
}

// newStrengths returns the strengths of a segment's impacts under the collection's average length. Ranks follow the
// strengths under the segment's own average; under another one two impacts may change places. So the bound of a rank is
// the largest strength up to it, not its own.
func newStrengths(x *Index, average float32) *strengths {
	s := &strengths{ofRank: make([]float32, len(x.impacts)), most: make([]float32, len(x.impacts))}
	s.linear = x.params.Analysis == forms.Weighted
	high := float32(0)
	for rank, i := range x.impacts {
		s.ofRank[rank] = x.params.strength(i, average)
		high = max(high, s.ofRank[rank])
		s.most[rank] = high
	}
	for code, rank := range x.codes {
		s.ofCode[code] = s.ofRank[rank]
	}
	return s
}

// bound returns the most that a term of this weight adds to a passage whose impact has this rank or a lower one.
func (s *strengths) bound(weight float32, rank uint32) float64 {
	if uint64(rank) >= uint64(len(s.most)) {
		return s.highest(weight)
	}
	return s.score(weight, s.most[rank])
}

// highest returns a score that no posting of a term of this weight exceeds.
func (s *strengths) highest(weight float32) float64 {
	if s.linear {
		return s.score(weight, MaxCode)
	}
	return float64(weight)
}
