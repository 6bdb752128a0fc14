package answering

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/internal/rank"
)

// withhold takes the passages that the request goes without, and their copies, out of the candidates.
func (a *Answer) withhold(ctx context.Context) error {
	if len(a.Plan.Without) == 0 {
		return nil
	}
	found, err := a.Found.View.Passages().Lookup(ctx, a.Plan.Without)
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
			slices.ContainsFunc(a.Found.CopiesOf(o), func(other rank.Ordinal) bool { return named[other] })
	}
	a.Table = a.Table.Without(a.gone)
	return nil
}

// kept returns passages without those that the answer goes without.
func (a *Answer) kept(passages []rank.Ordinal) []rank.Ordinal {
	if a.gone == nil {
		return passages
	}
	return slices.DeleteFunc(slices.Clone(passages), a.gone)
}
