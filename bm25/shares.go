package bm25

// shares holds, for one segment, the share of a term's weight that each impact
// gets under the statistics of the whole collection.
type shares struct {
	ofCode [256]float64 // by code; 0 where no impact has it
	ofRank []float64
	most   []float64 // by rank: the largest share of any impact of this rank or a lower one
}

// newShares works out the table. Ranks follow the shares under the segment's
// own average length. Under another average two impacts may change places, so
// a bound is the largest share so far and not the share itself.
func newShares(x *Index, average float32) *shares {
	s := &shares{ofRank: make([]float64, len(x.impacts)), most: make([]float64, len(x.impacts))}
	high := 0.0
	for rank, i := range x.impacts {
		s.ofRank[rank] = x.params.share(i, average)
		high = max(high, s.ofRank[rank])
		s.most[rank] = high
	}
	for code, rank := range x.codes {
		s.ofCode[code] = s.ofRank[rank]
	}
	return s
}

// bound is the largest share of an impact of this rank or a lower one.
func (s *shares) bound(rank uint32) float64 {
	if uint64(rank) >= uint64(len(s.most)) {
		return 1
	}
	return s.most[rank]
}
