package fusion

import "slices"

// Late interaction (Khattab & Zaharia 2020, ColBERT) scores the candidates that the other
// sources found and finds none itself. Its features for the gate are therefore computed
// from the candidates of the sources asked, even where the table holds others.

const (
	lateFamiliarity = iota // the highest familiarity
	lateTop                // its highest score
	lateGapFirst           // its highest score less the second
	lateGapTenth           // its highest score less the tenth
	lateShared             // share of its first ten that are among BM25's first ten
	lateCoverage           // how much of the question the words found: wordsCoverage
	lateSpread             // logarithm of the deviation of its scores over the candidates
	lateOfWords            // how high it places BM25's first hit (meanHeight)
	lateFeatures
)

// LateFeatureNames returns the names of the features that late interaction's weight depends on, in the order of
// Gate.Late.
func LateFeatureNames() []string {
	return []string{
		"highest_familiarity",
		"top",
		"gap_first",
		"gap_tenth",
		"shared_with_words",
		"coverage",
		"log_spread",
		"height_of_words",
	}
}

// lateFeaturesOf returns the features that late interaction's own column gives: how high and how far ahead its first
// candidate is, and how many of its first ten are among BM25's. The others are 0. first are its first rows (firstBy).
// lexical is BM25's column; -1: there is none.
func (c *Candidates) lateFeaturesOf(first []int32, late, lexical int) []float64 {
	x := make([]float64, lateFeatures)
	if len(first) == 0 {
		return x
	}
	score := func(n int) float64 { return float64(c.cellAt(int(first[min(n, len(first)-1)]), late).score) }
	x[lateTop] = score(0)
	x[lateGapFirst] = score(0) - score(1)
	x[lateGapTenth] = score(0) - score(headDepth-1)
	if lexical >= 0 {
		x[lateShared] = c.shareAmongFirst(first, lexical)
	}
	return x
}

// shareAmongFirst returns how many of some rows are among the first headDepth hits of a source, divided by headDepth.
func (c *Candidates) shareAmongFirst(rows []int32, column int) (share float64) {
	for _, row := range rows {
		if r := c.cellAt(int(row), column).rank; r > 0 && r <= headDepth {
			share += 1. / headDepth
		}
	}
	return share
}

// firstBy returns the rows with the highest scores in a column among those that one of the sources found, at most
// headDepth, the best first and equal ones by their ids.
func (c *Candidates) firstBy(sources []ObservedSource, column int) []int32 {
	columns := make([]int, len(sources))
	for i, s := range sources {
		columns[i] = s.Column
	}
	return slices.Clone(c.highestRows(
		headDepth, func(row int32) float64 { return float64(c.cellAt(int(row), column).score) },
		func(row int) bool { return c.cellAt(row, column).origin != FromNone && c.BestRank(row, columns) > 0 },
	))
}
