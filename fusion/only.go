package fusion

import "fmt"

// Only returns the table without the other sources. It has the given columns, in that
// order, and the candidates that one of these sources found. The table must be
// complete: every score is there.
func (c *Candidates) Only(columns []int) (*Candidates, error) {
	out := &Candidates{byID: c.byID}
	for _, column := range columns {
		if column < 0 || column >= len(c.columns) {
			return nil, fmt.Errorf("there is no source %d among %d", column, len(c.columns))
		}
		out.columns = append(out.columns, c.columns[column])
	}
	for row, ordinal := range c.ordinals {
		found := false
		for _, column := range columns {
			found = found || c.at(row, column).origin == FromHit
		}
		if !found {
			continue
		}
		out.ordinals = append(out.ordinals, ordinal)
		for _, column := range columns {
			out.cells = append(out.cells, *c.at(row, column))
		}
	}
	return out, nil
}
