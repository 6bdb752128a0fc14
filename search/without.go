package search

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/internal/rank"
)

// withhold takes the passages that the request goes without, and their copies, out of the candidates.
func (a *answer) withhold(ctx context.Context) error {
	if len(a.plan.without) == 0 {
		return nil
	}
	found, err := a.found.View.Passages().Lookup(ctx, a.plan.without)
	if err != nil {
		return fmt.Errorf("looking up the passages that are left out: %w", err)
	}
	named := map[rank.Ordinal]bool{}
	for _, f := range found {
		if f.There {
			named[f.Ordinal] = true
		}
	}
	a.gone = func(o rank.Ordinal) bool {
		return named[o] ||
			slices.ContainsFunc(a.found.CopiesOf(o), func(other rank.Ordinal) bool { return named[other] })
	}
	a.table = a.table.Without(a.gone)
	return nil
}

// kept returns passages without those that the answer goes without.
func (a *answer) kept(passages []rank.Ordinal) []rank.Ordinal {
	if a.gone == nil {
		return passages
	}
	return slices.DeleteFunc(slices.Clone(passages), a.gone)
}
