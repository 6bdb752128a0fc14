package folder

import (
	"context"
	"errors"
	"fmt"

	"example.org/conclave/ann"
	"example.org/conclave/internal/disk"
)

// VerifyVectors compares the checksums of the vectors and graphs of all experts,
// those that were not compared since they were opened. The first search of an
// expert does it for that one, which takes as long as reading its files; who
// opens a large collection may do it beforehand, in the background. The error
// names every file that is damaged: searches of its expert fail with it, others
// do not. Where ctx ends it, the next call or search goes on from there.
func (g *Generation) VerifyVectors(ctx context.Context) error { return g.verifyVectors(ctx, nil) }

// verifyVectors works as VerifyVectors does for what another generation does not have.
func (g *Generation) verifyVectors(ctx context.Context, but *Generation) error {
	known := map[ann.Index]bool{}
	if but != nil {
		for _, s := range but.segments {
			for _, ix := range s.vectors {
				known[ix] = true
			}
		}
	}
	var errs []error
	for _, s := range g.segments {
		for _, x := range g.manifest.Keepers() {
			ix := s.vectors[x.Name]
			if known[ix] {
				continue
			}
			if err := disk.Survive(func() error { return ix.Verify(ctx) }); err != nil {
				errs = append(errs, fmt.Errorf("the vectors of %s in %s: %w", x.Name, s.name, g.explainDamage(x.Name, err)))
			}
			if err := ctx.Err(); err != nil {
				return errors.Join(errs...)
			}
		}
	}
	return errors.Join(errs...)
}

// explainDamage adds to the error of a damaged file of an expert what a person
// can do.
func (g *Generation) explainDamage(expert string, err error) error {
	if damage := (*ann.DamageError)(nil); !errors.As(err, &damage) {
		return err
	}
	return fault(ErrDamagedVectors, g.dir, expert, "%w, or restore the collection from a copy of a snapshot", err)
}
