package fusion

import (
	"fmt"

	"example.org/conclave/internal/rank"
)

// Said is what a source said of a candidate when it was asked.
type Said struct {
	Origin Origin  // FromHit, FromExact or FromScored; FromNone: nothing
	Score  float32 // finite
	Rank   int     // of a hit, in the source's own list, from 1
}

// Restore fills the table with what sources said of candidates in an earlier search:
// said[row][column], and the passage of a row is its number. The ranks of a column
// must be those of its scores; the lowest score among its hits is that of the last one
// that is given.
func (c *Candidates) Restore(columns int, said [][]Said) error {
	c.ordinals = c.ordinals[:0]
	c.cells = c.cells[:0]
	c.columns = make([]column, columns)
	c.byID = nil
	if columns > MaxSources {
		return fmt.Errorf("%d sources to fuse, at most %d are possible", columns, MaxSources)
	}
	for row, cells := range said {
		c.ordinals = append(c.ordinals, rank.Ordinal(row))
		for at, s := range cells {
			c.cells = append(c.cells, cell{score: s.Score, rank: int32(s.Rank), origin: s.Origin})
			if s.Origin != FromHit {
				continue
			}
			if col := &c.columns[at]; col.hits == 0 || s.Score < col.lowest {
				col.lowest = s.Score
			}
			c.columns[at].hits++
		}
	}
	return nil
}
