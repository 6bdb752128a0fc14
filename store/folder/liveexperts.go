package folder

import (
	"context"
	"fmt"

	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
)

// AddExpert encodes all passages with another expert. Searches go on, changes
// are acknowledged; they become visible when it is done.
func (l *Live) AddExpert(
	ctx context.Context,
	encoder store.PassageEncoder,
	o store.BuildOptions,
) (report store.BuildReport, err error) {
	l.structure.Lock()
	defer l.structure.Unlock()
	if l.writer.snapshot().Expert(encoder.Name()) == nil {
		// Before, since it may be published later than AddExpert returns. One that
		// the collection does not have encodes nothing.
		l.mu.Lock()
		l.encoders[encoder.Name()] = encoder
		l.mu.Unlock()
	}
	err = disk.Survive(func() error { report, err = l.writer.addExpert(ctx, encoder, o); return err })
	if err == nil {
		l.show(ctx)
	}
	return report, err
}

// RemoveExpert takes an expert out.
func (l *Live) RemoveExpert(ctx context.Context, name string) error {
	l.structure.Lock()
	defer l.structure.Unlock()
	if err := disk.Survive(func() error { return l.writer.removeExpert(ctx, name) }); err != nil {
		return err
	}
	l.mu.Lock()
	delete(l.encoders, name)
	l.mu.Unlock()
	l.show(ctx)
	return nil
}

// Snapshot makes what was acknowledged visible and copies the collection to the
// folder out: see the function Snapshot. The copy gets the id, one of NewID's, by
// which the caller recognises it.
func (l *Live) Snapshot(ctx context.Context, out, id string) (SnapshotReport, error) {
	if err := l.Flush(ctx); err != nil {
		return SnapshotReport{}, fmt.Errorf("making the changes of the log part of the snapshot: %w", err)
	}
	return l.writer.snapshotTo(ctx, out, id)
}
