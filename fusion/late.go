package fusion

// Late interaction (Khattab & Zaharia 2020, ColBERT) scores the candidates that
// the other sources found and finds none itself: its ranking is of these. So what
// the gate reads of it is read from the candidates of the sources asked, whatever
// else the table holds.

const (
	lateFamiliarity = iota // the highest familiarity
	lateTop                // its highest score
	lateGapFirst           // its highest score less the second
	lateGapTenth           // its highest score less the tenth
	lateShared             // share of its first ten that are among BM25's first ten
	lateCoverage           // how much of the question the words found: wordsCoverage
	lateFeatures
)

// LateFeatureNames are the features that decide about late interaction's weight.
func LateFeatureNames() []string {
	return []string{"highest_familiarity", "top", "gap_first", "gap_tenth", "shared_with_words", "coverage"}
}

// lateFeaturesOf fills in what a column of late interaction says itself: how high
// and how far ahead its first is, and how many of its first ten BM25 has too
// (lexical: BM25's column, or -1).
func (c *Candidates) lateFeaturesOf(sources []Observed, late, lexical int) []float64 {
	x := make([]float64, lateFeatures)
	first := c.firstBy(sources, late)
	if len(first) == 0 {
		return x
	}
	score := func(n int) float64 { return float64(c.at(int(first[min(n, len(first)-1)]), late).score) }
	x[lateTop], x[lateGapFirst], x[lateGapTenth] = score(0), score(0)-score(1), score(0)-score(headDepth-1)
	if lexical >= 0 {
		for _, row := range first {
			if r := c.at(int(row), lexical).rank; r > 0 && r <= headDepth {
				x[lateShared] += 1. / headDepth
			}
		}
	}
	return x
}

// firstBy are the rows with a column's highest scores among those that one of
// the sources found, at most headDepth, best first; of equal ones the lower
// ordinal comes first.
func (c *Candidates) firstBy(sources []Observed, column int) []int32 {
	columns := make([]int, len(sources))
	for i, s := range sources {
		columns[i] = s.Column
	}
	best := make([]int32, 0, headDepth+1)
	for row := range c.ordinals {
		own := c.at(row, column)
		if own.origin == FromNone || c.Best(row, columns) == 0 {
			continue
		}
		at := len(best)
		for at > 0 && c.at(int(best[at-1]), column).score < own.score {
			at--
		}
		if at == headDepth {
			continue
		}
		best = append(best, 0)
		copy(best[at+1:], best[at:])
		best[at] = int32(row)
		best = best[:min(len(best), headDepth)]
	}
	return best
}
