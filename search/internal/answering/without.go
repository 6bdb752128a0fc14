package answering

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/internal/rank"
)

// removeExcluded removes the passages that the request excludes (Plan.Without, by id), and their copies, from the
// table. Ids that do not exist are ignored. It fails if the ids cannot be looked up.
func (c *Candidates) removeExcluded(ctx context.Context) error {
	if len(c.Plan.Without) == 0 {
		return nil
	}
	found, err := c.Found.View.Passages().Lookup(ctx, c.Plan.Without)
	if err != nil {
		return fmt.Errorf("looking up the passages that are left out: %w", err)
	}
	named := map[rank.Ordinal]bool{}
	for _, f := range found {
		if f.There {
			named[f.Ordinal] = true
		}
	}
	c.isExcluded = func(o rank.Ordinal) bool {
		return named[o] ||
			slices.ContainsFunc(c.Found.CopiesOf(o), func(other rank.Ordinal) bool { return named[other] })
	}
	c.Table = c.Table.Without(c.isExcluded)
	return nil
}

// withoutExcluded returns passages without those that the request excludes (removeExcluded).
func (c *Candidates) withoutExcluded(passages []rank.Ordinal) []rank.Ordinal {
	if c.isExcluded == nil {
		return passages
	}
	return slices.DeleteFunc(slices.Clone(passages), c.isExcluded)
}
