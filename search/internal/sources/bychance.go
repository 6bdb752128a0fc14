package sources

import (
	"math"
	"slices"

	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
)

const (
	mostByChance  = 32
	leastByChance = 8
)

// byChance is the share of the random passages in which a token may match as well as in
// the one that is highlighted, or better, if that is to be more than chance.
const byChance = 0.2

// chanceMatches holds how well the tokens of a question match random passages.
type chanceMatches struct {
	passages []rank.Ordinal
	best     [][]float32 // for each passage, by token, the greatest inner product
}

// matchByChance returns, for each of the first mostByChance random passages whose vectors can be read, the greatest
// inner product of each token of the question with the passage's tokens. question holds a vector of dim numbers for
// each token. The result is never nil, but may be empty.
func matchByChance(index storage.TokenVectors, random []rank.Ordinal, question []float32, dim int) *chanceMatches {
	c := &chanceMatches{}
	for _, o := range random {
		if len(c.passages) == mostByChance {
			break
		}
		vectors, err := index.Vector(o)
		if err != nil || len(vectors) < dim {
			continue
		}
		var best []float32
		for tokens := question; len(tokens) >= dim; tokens = tokens[dim:] {
			most := float32(math.Inf(-1))
			for rest := vectors; len(rest) >= dim; rest = rest[dim:] {
				most = max(most, InnerProduct(tokens[:dim], rest[:dim]))
			}
			best = append(best, most)
		}
		c.passages, c.best = append(c.passages, o), append(c.best, best)
	}
	return c
}

// matchThresholds returns, for each token of the question, the inner product that a token of a passage has to exceed to
// count as a match: the share byChance of the random passages exceeds it. passage is left out of the random ones if it
// is among them. It returns nil, for no thresholds, if fewer than leastByChance remain.
func (c *chanceMatches) matchThresholds(passage rank.Ordinal) []float32 {
	var others [][]float32
	for i, o := range c.passages {
		if o != passage {
			others = append(others, c.best[i])
		}
	}
	if len(others) < leastByChance {
		return nil
	}
	out, column := make([]float32, len(others[0])), make([]float32, len(others))
	for token := range out {
		for i := range others {
			column[i] = others[i][token]
		}
		slices.Sort(column)
		out[token] = column[len(column)-1-int(byChance*float64(len(column)))]
	}
	return out
}
