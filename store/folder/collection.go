package folder

import (
	"fmt"
	"sync"

	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// Collection reads a collection: it hands out its newest generation that was
// loaded. Any number of processes may read it while one writes.
type Collection struct {
	dir   string
	files *sharedFiles

	loading sync.Mutex // one Reload at a time

	mu      sync.Mutex
	current *Generation
}

// Open opens the newest generation of the collection in dir for reading. It compares the manifest's checksum and the
// sizes and headers of files, which takes the same time however large they are; Verify compares everything. It returns
// ErrNotCollection, ErrUnfinished, ErrOtherAnalyser or an error of damage. The caller closes the collection.
func Open(dir string) (*Collection, error) {
	c := &Collection{dir: dir, files: newShared(disk.OS{})}
	if _, err := c.Reload(nil); err != nil {
		return nil, err
	}
	return c, nil
}

// ErrUnfinished says that the first build of a collection was interrupted, or
// has not ended yet. Build may be called again: it removes the unfinished files.
var ErrUnfinished = store.ErrUnfinished

// Acquire pins and returns the newest loaded generation. Call Release on it when done. It panics after Close.
func (c *Collection) Acquire() *Generation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil || !c.current.pin() {
		panic("collection: Acquire was called after Close")
	}
	return c.current
}

// Shows reports whether g is the newest loaded generation, which Acquire returns. It is false after Close.
func (c *Collection) Shows(g *Generation) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current == g
}

// Reload loads the newest generation on disk and reports whether it replaced the one in use; false without an error:
// the one in use is the newest. If check is not nil, it is called with the new generation before Acquire returns
// that. On an error, also one of check, the one before stays in use. Pinned generations stay open. The error is
// ErrUnfinished if no build was completed; another collection in the folder's place is an error too.
func (c *Collection) Reload(check func(next *Generation) error) (bool, error) {
	c.loading.Lock()
	defer c.loading.Unlock()
	c.mu.Lock()
	current := c.current
	c.mu.Unlock()

	var next *Generation
	err := withNewest(c.files.disk, c.dir, func(m *manifest.Manifest) (err error) {
		if m.Generation == 0 {
			return fmt.Errorf("%s: %w: let it end, or build again", c.dir, ErrUnfinished)
		}
		if current != nil && m.ID != current.manifest.ID {
			return fmt.Errorf("%s was replaced by another collection: open it anew", c.dir)
		}
		if current == nil || m.Generation != current.Number() {
			next, err = openGeneration(c.files, c.dir, m, everything)
		}
		return err
	})
	if err != nil || next == nil {
		return false, err
	}
	if check != nil {
		if err := check(next); err != nil {
			next.drop()
			return false, err
		}
	}
	c.mu.Lock()
	c.current = next
	c.mu.Unlock()
	if current != nil {
		current.drop()
	}
	return true, nil
}

// replace makes next the generation that Acquire returns, and uses up the caller's pin on it. It returns false, and
// only releases next, if the current one is as new or newer. prepare is called before the switch, with the current one.
func (c *Collection) replace(next *Generation, prepare func(before *Generation)) bool {
	c.loading.Lock()
	defer c.loading.Unlock()
	c.mu.Lock()
	before := c.current
	c.mu.Unlock()
	if next.Number() <= before.Number() {
		next.drop()
		return false
	}
	prepare(before)
	c.mu.Lock()
	c.current = next
	c.mu.Unlock()
	before.drop()
	return true
}

// ID returns the collection's identity. No other collection has it, not even a copy. It panics after Close.
func (c *Collection) ID() string {
	g := c.Acquire()
	defer g.Release()
	return g.manifest.ID
}

// Close ends the reading: Acquire must not be called any more. Pinned generations stay open until they are released.
// The error is always nil.
func (c *Collection) Close() error {
	c.loading.Lock()
	defer c.loading.Unlock()
	c.mu.Lock()
	current := c.current
	c.current = nil
	c.mu.Unlock()
	if current != nil {
		current.drop()
	}
	return nil
}
