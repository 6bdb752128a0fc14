package backend

import (
	"context"
	"time"

	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// watchEvery is the time between two checks of a folder for changes by other processes: of the
// calibration and settings and, if the collection is only read, of the manifest.
const watchEvery = time.Second

// conditionOf is the name of the collection's condition among those of a server.
const conditionOf = "collection"

// Watch tells w of new generations and of new calibrations or settings on disk, for which it looks once a second. It
// blocks until ctx ends.
func (b *backend) Watch(ctx context.Context, w store.Watcher) {
	told := uint64(0) // the generation whose reads the watcher knows
	for again := time.NewTicker(watchEvery); ; {
		g := b.opened().Acquire()
		if g.Number() != told {
			told = g.Number()
			w.ReadsPassages(g.Reads())
		}
		g.Release()
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return
		}
		if b.live == nil {
			w.Is(b.reload(w))
		}
		if b.recordChanged() {
			w.Recalibrated()
		}
	}
}

// reload loads the newest generation on disk, if it is new and w accepts it, and tells w. It returns the collection's
// condition: the error of loading, or none.
func (b *backend) reload(w store.Watcher) store.Condition {
	c := store.Condition{Of: conditionOf}
	changed, err := b.collection.Reload(func(next *folder.Generation) error { return w.Comes(next) })
	if err != nil {
		c.Err = err
		c.Warnings = []string{"what was written since cannot be shown: " + err.Error()}
		return c
	}
	if changed {
		now, done := b.Contents()
		defer done()
		w.Came(now)
	}
	return c
}
