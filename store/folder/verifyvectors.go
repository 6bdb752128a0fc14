package folder

import (
	"context"
	"errors"
	"fmt"

	"example.org/conclave/ann"
	"example.org/conclave/internal/disk"
)

// VerifyVectors compares the checksums of all experts' vector files, except those that were compared since they were
// opened. The error names every damaged file; searches of other experts still work. If ctx ends, it stops, and may
// return nil: check ctx.Err(). The next call goes on from there. Without this call, an expert's first search compares
// the checksums and takes as long as reading the files.
func (g *Generation) VerifyVectors(ctx context.Context) error { return g.verifyVectors(ctx, nil) }

// verifyVectors compares the checksums of the files of all experts' vectors that were not compared since they were
// opened. It leaves out the files that the generation but has open too; with nil it leaves out none. The error names
// every damaged file. If ctx ends, it returns what was found so far, which may be nil.
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

// explainDamage returns an *ann.DamageError as an ErrDamagedVectors fault that says what a person can do, and any
// other error as it is. expert is the name of the expert whose vectors were read.
func (g *Generation) explainDamage(expert string, err error) error {
	if damage := (*ann.DamageError)(nil); !errors.As(err, &damage) {
		return err
	}
	return fault(ErrDamagedVectors, g.dir, expert, "%w, or restore the collection from a copy of a snapshot", err)
}
