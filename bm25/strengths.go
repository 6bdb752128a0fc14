package bm25

// strengths holds, for one segment, the strength of each impact (see
// Params.strength) under the statistics of the whole collection.
type strengths struct {
	ofCode [256]float32 // 0 where no impact has the code
	ofRank []float32
	most   []float32 // by rank: the largest of any impact of this rank or a lower one
}

// newStrengths works out the table. Ranks follow the strengths under the
// segment's own average length. Under another average two impacts may change
// places, so a bound is the largest strength so far and not the rank's own.
func newStrengths(x *Index, average float32) *strengths {
	s := &strengths{ofRank: make([]float32, len(x.impacts)), most: make([]float32, len(x.impacts))}
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

// bound returns the most that a term of the given weight adds to a passage where its
// impact is of this rank or a lower one.
func (s *strengths) bound(weight float32, rank uint32) float64 {
	if uint64(rank) >= uint64(len(s.most)) {
		return float64(weight)
	}
	return termScore(weight, s.most[rank])
}
