package bm25

// UpperBound is a value that the score of no passage exceeds for the question: the sum of the
// weights of all its terms, as if a passage had every one of them endlessly
// often. Terms that no passage has count too, as the rarest of all, so that
// the highest score divided by the upper bound says how much of the question the
// words found, between 0 and 1, whatever the collection: a share that can be
// compared where scores cannot. 0 for a question without terms.
func (s *Searcher) UpperBound(question string) (float64, error) {
	sum := 0.0
	for _, t := range distinct(s.read(question)) {
		df, err := s.documents(&t)
		if err != nil {
			return 0, err
		}
		sum += float64(t.count) * float64(IDF(df, uint64(s.statistics.withTerms)))
	}
	return sum, nil
}
