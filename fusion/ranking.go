package fusion

import (
	"fmt"
	"math"
	"slices"

	"example.org/conclave/internal/rank"
)

// MaxWeight bounds weights, so that no product can overflow.
const MaxWeight = 1e9

// Source is a source that takes part in a fusion: its column in Candidates and
// its weight (Sum, RRF) or confidence (MUF, MUFSparse, Hybrid).
type Source struct {
	Column int
	Weight float64
}

// Ranking is the result of a fusion.
type Ranking struct {
	// Items are the best candidates, best first. Scores that are equal after rounding to
	// the precision of a sum are in the order of the passages' ids
	// (Candidates.OrderTies).
	Items []Item
	// Weights are what each source's score was multiplied by, by column; 0 for
	// a source that took no part.
	Weights []float64
	// Confidence is the mean of the experts' confidences, as the authors of MUF
	// report it, or the chosen expert's for MUFSparse. Nil for other methods.
	Confidence *float64
	// Any is the calibrated chance that any of the items answers. Where it is set,
	// Confidence is the chance of the first item.
	Any *float64
	// Answerable is the chance that the passages searched answer the question at all; nil: not
	// known.
	Answerable *float64
}

// Item is one candidate of a fused ranking.
type Item struct {
	Ordinal rank.Ordinal
	Score   float64
	Parts   []Part // one for each source that took part, in the order of the call
}

// Part is what one source has to do with an item's score. The contributions of
// an item add up to its score.
type Part struct {
	Column       int
	Score        float64 // the source's own score, before normalisation; 0 when Origin is FromNone
	Rank         int     // in the source's own list, from 1; 0 when it was not found
	Origin       Origin
	Weight       float64
	Contribution float64
}

// rankBy returns the best k candidates of the sources. A candidate's score is the sum of contribution over the sources,
// by their index i; part explains a contribution for the best k only. If some sources are left out, only passages that
// one of the sources found, or that were admitted, are candidates.
func (c *Candidates) rankBy(
	sources []Source,
	k int,
	contribution func(row, i int) float64,
	part func(row, i int) Part,
) Ranking {
	m := len(sources)
	all := m == len(c.columns)
	candidate := func(row int) bool {
		return all || c.admitted != nil && c.admitted[row] || c.foundBy(row, sources)
	}

	c.scores = growSlice(c.scores, c.Len())
	clear(c.scores)
	contributions := make([]float64, m)
	magnitude := 0.0
	for row := range c.scores {
		if !candidate(row) {
			continue
		}
		for i := range contributions {
			contributions[i] = contribution(row, i)
			magnitude = max(magnitude, math.Abs(contributions[i]))
		}
		c.scores[row] = sumAscending(contributions)
	}
	c.roundScores(magnitude)

	rows := c.bestRows(k, candidate)
	ranking := Ranking{Items: make([]Item, len(rows)), Weights: make([]float64, len(c.columns))}
	parts := make([]Part, len(rows)*m)
	for n, row := range rows {
		own := parts[n*m : (n+1)*m : (n+1)*m]
		for i := range own {
			own[i] = part(int(row), i)
		}
		ranking.Items[n] = Item{Ordinal: c.ordinals[row], Score: c.scores[row], Parts: own}
	}
	for _, s := range sources {
		ranking.Weights[s.Column] = s.Weight
	}
	return ranking
}

// sumAscending returns the sum of contributions, added in ascending order, so that it does not depend on the order of
// the sources even in the last bit. It sorts them in place.
func sumAscending(contributions []float64) float64 {
	// Insertion sort: there are a handful, and slices.Sort costs a call.
	for i := 1; i < len(contributions); i++ {
		for j := i; j > 0 && contributions[j] < contributions[j-1]; j-- {
			contributions[j], contributions[j-1] = contributions[j-1], contributions[j]
		}
	}
	sum := 0.0
	for _, x := range contributions {
		sum += x
	}
	return sum
}

// foundBy reports whether any of the sources found the row's passage.
func (c *Candidates) foundBy(row int, sources []Source) bool {
	for _, s := range sources {
		if c.cellAt(row, s.Column).origin == FromHit {
			return true
		}
	}
	return false
}

// checkSources returns an error if a source is no column of c, is there twice, or has a weight that is negative, too
// large or NaN.
func (c *Candidates) checkSources(sources []Source) error {
	var seen [MaxSources]bool
	for _, s := range sources {
		if s.Column < 0 || s.Column >= len(c.columns) {
			return fmt.Errorf("source %d to fuse, but there are %d", s.Column, len(c.columns))
		}
		if seen[s.Column] {
			return fmt.Errorf("source %d takes part twice", s.Column)
		}
		seen[s.Column] = true
		if !(s.Weight >= 0 && s.Weight <= MaxWeight) { // also refuses NaN
			return fmt.Errorf(
				"the weight of source %d is %v: it must be between 0 and %g", s.Column, s.Weight, float64(MaxWeight),
			)
		}
	}
	return nil
}

// withEqualWeights returns the sources themselves, or, if no weight is above 0, a copy with a weight of 1 each.
func withEqualWeights(sources []Source) []Source {
	for _, s := range sources {
		if s.Weight > 0 {
			return sources
		}
	}
	equal := slices.Clone(sources)
	for i := range equal {
		equal[i].Weight = 1
	}
	return equal
}
