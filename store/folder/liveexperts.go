package folder

import (
	"context"
	"fmt"

	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
)

// AddExpert encodes all passages with another expert's encoder. Searches go on and changes are acknowledged meanwhile,
// but these become visible only when it is done. It returns ErrHasVectors if there is an expert of that name.
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

// RemoveExpert removes an expert and its vectors. It fails if there is none of that name, or another expert searches
// its vectors (ErrIsOwner).
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

// Snapshot makes all acknowledged changes visible and then copies the collection to a new folder out, by hard links
// where it can, and returns what it holds. id, one of NewID's, becomes the identity of the copy. It fails if out is
// there or cannot be written, the changes cannot be made visible, or ctx ends before.
func (l *Live) Snapshot(ctx context.Context, out, id string) (SnapshotReport, error) {
	if err := l.Flush(ctx); err != nil {
		return SnapshotReport{}, fmt.Errorf("making the changes of the log part of the snapshot: %w", err)
	}
	return l.writer.snapshotTo(ctx, out, id)
}
