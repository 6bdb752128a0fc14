package fusion

import "example.org/conclave/internal/rank"

// Without returns a copy of the table as it would be if the passages for which gone is true were not in the collection:
// their rows are missing, and each source's later hits move up. What a source would have found below its last hit is
// not known. Passages that were added by Admit stay as rows, but where only some of the sources are fused they no
// longer count as candidates.
func (c *Candidates) Without(gone func(rank.Ordinal) bool) *Candidates {
	out := &Candidates{columns: make([]column, len(c.columns)), byID: c.byID}
	up := make([][]bool, len(c.columns)) // by source and rank: that hit is gone
	for source, col := range c.columns {
		up[source] = make([]bool, col.hits+1)
	}
	for row, ordinal := range c.ordinals {
		cells := c.cells[row*len(c.columns) : (row+1)*len(c.columns)]
		if gone(ordinal) {
			for source, x := range cells {
				if x.rank > 0 {
					up[source][x.rank] = true
				}
			}
			continue
		}
		out.ordinals = append(out.ordinals, ordinal)
		out.cells = append(out.cells, cells...)
	}
	for source := range c.columns {
		ranks := make([]int32, len(up[source]))
		next := int32(0)
		for place := 1; place < len(ranks); place++ {
			if !up[source][place] {
				next++
			}
			ranks[place] = next
		}
		out.columns[source] = column{hits: int(next)}
		for row := range out.ordinals {
			x := out.cellAt(row, source)
			if x.rank == 0 {
				continue
			}
			x.rank = ranks[x.rank]
			if x.rank == next {
				out.columns[source].lowest = x.score
			}
		}
	}
	return out
}
