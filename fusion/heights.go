package fusion

import "math"

// The gate reads two things of a source's scores as a whole: how far apart they are, and
// how high the source ranks the first hits of another source. No fixed weight suits
// every collection, because the spread of a source's scores depends on the length of the
// question, the corpus and the encoder. A source counts less where the other sources
// rank its first hits low.

// scatter is how a column's scores lie over the candidates that it scored.
type scatter struct{ mean, deviation, highest float64 }

// The values that are added to a deviation before its logarithm is taken. A source with a
// smaller deviation scores all candidates nearly alike.
const (
	leastWordsSpread = .05
	leastLateSpread  = .005
)

// logDeviation returns the logarithm of the deviation plus least, which must be above 0.
func (s scatter) logDeviation(least float64) float64 { return math.Log(s.deviation + least) }

// foundRows returns the rows that one of the sources found, ascending.
func (c *Candidates) foundRows(sources []ObservedSource) []int32 {
	columns := make([]int, len(sources))
	for i, s := range sources {
		columns[i] = s.Column
	}
	rows := make([]int32, 0, len(c.ordinals))
	for row := range c.ordinals {
		if c.BestRank(row, columns) > 0 {
			rows = append(rows, int32(row))
		}
	}
	return rows
}

// scatterOver returns the scatter of a column over rows; the zero value if it has scored none of them.
func (c *Candidates) scatterOver(rows []int32, column int) scatter {
	n, sum, squares := 0., 0., 0.
	s := scatter{highest: math.Inf(-1)}
	for _, row := range rows {
		if own := c.cellAt(int(row), column); own.origin != FromNone {
			n, sum = n+1, sum+float64(own.score)
			s.highest = max(s.highest, float64(own.score))
		}
	}
	if n == 0 {
		return scatter{}
	}
	s.mean = sum / n
	for _, row := range rows {
		if own := c.cellAt(int(row), column); own.origin != FromNone {
			squares += (float64(own.score) - s.mean) * (float64(own.score) - s.mean)
		}
	}
	s.deviation = math.Sqrt(squares / n)
	return s
}

// meanHeight returns how high a column places some rows on average: 1 is its highest score, 0 the mean of all
// candidates, -1 as far below the mean or farther. It is 0 if the column has scored none of the rows, or all candidates
// alike.
func (c *Candidates) meanHeight(s scatter, column int, rows []int32) float64 {
	n, sum := 0., 0.
	for _, row := range rows {
		if own := c.cellAt(int(row), column); own.origin != FromNone {
			n, sum = n+1, sum+float64(own.score)
		}
	}
	if n == 0 || s.highest <= s.mean {
		return 0
	}
	return max(-1, min((sum/n-s.mean)/(s.highest-s.mean), 1))
}

// firstHits returns those of rows that are among a source's own first n hits.
func (c *Candidates) firstHits(rows []int32, column, n int) []int32 {
	first := make([]int32, 0, n)
	for _, row := range rows {
		if r := c.cellAt(int(row), column).rank; r > 0 && int(r) <= n {
			first = append(first, row)
		}
	}
	return first
}

// readHeights sets the features that compare how the sources score the same candidates: the spreads of BM25 and of late
// interaction, and how high each source places the first candidates of the other. lexical and late are the columns of
// these two; -1: there is none, and its features stay. firstOfLate are late interaction's first rows (firstBy).
func (f *Features) readHeights(c *Candidates, sources []ObservedSource, lexical, late int, firstOfLate []int32) {
	if lexical < 0 && late < 0 {
		return
	}
	rows := c.foundRows(sources)
	var words, tokens scatter
	if lexical >= 0 {
		words = c.scatterOver(rows, lexical)
		f.Lexical[wordsSpread] = words.logDeviation(leastWordsSpread)
	}
	if late >= 0 {
		tokens = c.scatterOver(rows, late)
		f.Late[lateSpread] = tokens.logDeviation(leastLateSpread)
	}
	if lexical < 0 {
		return
	}
	first := c.firstHits(rows, lexical, headDepth)
	for _, s := range sources {
		if s.Kind.Dense() {
			f.Lexical[wordsInExperts] += c.meanHeight(c.scatterOver(rows, s.Column), s.Column, first) / float64(
				len(f.Dense),
			)
		}
	}
	if late >= 0 {
		f.Lexical[wordsOfLate] = c.meanHeight(words, lexical, firstOfLate)
		f.Late[lateOfWords] = c.meanHeight(tokens, late, c.firstHits(rows, lexical, 1))
	}
}
