package folder

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"example.org/conclave/internal/disk"
	"example.org/conclave/store/folder/internal/manifest"
)

// writer changes a collection; there is at most one for each. It holds the lock from
// openWriter to Close. Its methods may be called concurrently: they make segments, which
// takes long, in parallel, and only publish one at a time.
type writer struct {
	dir   string
	disk  disk.Disk
	lock  *os.File
	files *sharedFiles

	mu       sync.Mutex
	manifest *manifest.Manifest
	serial   uint64      // the next number for a name
	current  *Generation // of manifest; without words and vectors before the first publication

	unsettled *publication // whose outcome is unknown
	overtaken error        // there is another writer: nothing is changed any more
}

// openWriter takes the lock of an existing collection and removes what an interrupted writer left. It returns ErrLocked
// if there is another writer, and ErrNotCollection if there is no collection. The caller closes it.
func openWriter(d disk.Disk, dir string) (*writer, error) {
	if _, err := readManifest(d, dir); err != nil {
		return nil, err // before a LOCK is made in a folder that is not ours
	}
	file, err := lock(d, dir)
	if err != nil {
		return nil, err
	}
	w := &writer{dir: dir, disk: d, lock: file, files: newShared(d)}
	// Once more: it may have changed before the lock was ours.
	w.manifest, err = readManifest(d, dir)
	if err == nil {
		err = w.begin()
	}
	if err != nil {
		_ = unlock(file)
		return nil, err
	}
	return w, nil
}

// createWriter makes the folder of a new collection, locks it and publishes generation 0, which no reader opens: a
// writer that comes after a crash may clear such a folder. It fails if the folder holds anything else or a finished
// collection.
func createWriter(d disk.Disk, dir string) (w *writer, err error) {
	if err := errors.Join(checkFolderName("collection", dir), checkOutsideCollections(dir)); err != nil {
		return nil, err
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if err := disk.MkdirAll(parent, 0o700); err != nil {
		return nil, disk.Explain(err)
	}
	if err := d.Mkdir(dir); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, disk.Explain(err)
	}
	entries, err := d.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if name := e.Name(); name != lockName && name != manifest.ManifestPending &&
			!exists(filepath.Join(dir, manifest.FileName)) {
			return nil, fmt.Errorf(
				"%s is not empty and holds %w (it has %s): name a new or an empty folder", dir, ErrNotCollection, name,
			)
		}
	}
	file, err := lock(d, dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = unlock(file)
		}
	}()
	w = &writer{dir: dir, disk: d, lock: file, files: newShared(d)}
	w.manifest, err = readManifest(d, dir)
	switch {
	case errors.Is(err, ErrNotCollection):
		w.manifest = &manifest.Manifest{ID: NewID(), NextSegment: 1}
		if _, err := manifest.Write(d, dir, w.manifest); err != nil {
			return nil, disk.Explain(err)
		}
		if err := d.SyncDir(parent); err != nil {
			return nil, disk.Explain(err)
		}
	case err != nil:
		return nil, err
	case w.manifest.Generation > 0:
		return nil, fmt.Errorf(
			"%s holds a collection already (%d passages): add to it, or name another folder", dir, w.manifest.Live(),
		)
	}
	return w, w.begin()
}

// NewID returns a new random identity for a collection or a copy of one: 32 hexadecimal digits.
func NewID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// begin checks the manifest, removes leftovers and opens the present generation's passages. It fails if no next
// generation can be made, or a file cannot be opened or removed.
func (w *writer) begin() (err error) {
	if err := checkNext(w.manifest); err != nil {
		return fmt.Errorf("%s: %w", w.dir, err)
	}
	if err := w.removeLeftovers(); err != nil {
		return err
	}
	w.serial = w.manifest.NextSegment
	w.current, err = openGeneration(w.files, w.dir, w.manifest, wordless)
	return err
}

// openAll opens the present generation with words and vectors. It is for before the writer is shared. It fails, and
// changes nothing, if a file cannot be opened.
func (w *writer) openAll() error {
	g, err := openGeneration(w.files, w.dir, w.manifest, everything)
	if err != nil {
		return err
	}
	w.current.drop()
	w.current = g
	return nil
}

// Close gives the lock back. No method may be running. A second call returns nil. It fails if the lock file cannot be
// closed.
func (w *writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lock == nil {
		return nil
	}
	if w.unsettled != nil {
		w.unsettled.next.drop() // its files are left to the next writer, who sees which manifest counts
	}
	w.current.drop()
	err := unlock(w.lock)
	w.lock = nil
	return err
}

// number returns a number for the name of a file or segment, never given before in this collection.
func (w *writer) number() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serial++
	return w.serial - 1
}

// snapshot returns the present manifest, which must not be changed.
func (w *writer) snapshot() *manifest.Manifest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.manifest
}

// pinned returns the present generation, pinned. The caller drops it.
func (w *writer) pinned() *Generation {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current.pin()
	return w.current
}

// removeLeftovers removes the files and folders of writers that the manifest does not name. It leaves foreign ones.
// Before that it syncs the manifest: the writer before may have ended before its last manifest was durable, and after
// a power cut only what the older one names would be there. It stops at the first that cannot be removed, and returns
// that error.
func (w *writer) removeLeftovers() error {
	left, err := w.leftovers()
	if err == nil && len(left) > 0 {
		err = w.disk.SyncFile(filepath.Join(w.dir, manifest.FileName))
		if err == nil {
			err = w.disk.SyncDir(w.dir)
		}
	}
	for _, path := range left {
		if err == nil {
			err = w.disk.RemoveAll(path)
		}
	}
	if err != nil {
		return disk.Explain(fmt.Errorf("clearing up %s: %w", w.dir, err))
	}
	return nil
}

// leftovers returns the paths that removeLeftovers removes. It fails if a folder cannot be read.
func (w *writer) leftovers() (left []string, err error) {
	entries, err := w.disk.ReadDir(w.dir)
	if err != nil {
		return nil, err
	}
	named := w.manifest.Named()
	for _, e := range entries {
		name := e.Name()
		switch {
		case strings.HasPrefix(name, "tmp-"), manifest.SegmentName.MatchString(name) && !named[name]:
			left = append(left, filepath.Join(w.dir, name))
		case named[name]:
			inside, err := w.disk.ReadDir(filepath.Join(w.dir, name))
			if err != nil {
				return nil, err
			}
			for _, f := range inside {
				if path := filepath.Join(name, f.Name()); !named[path] {
					left = append(left, filepath.Join(w.dir, path))
				}
			}
		}
	}
	return left, nil
}

// isOurs reports whether a file or folder of this name in a collection's folder is a writer's.
func isOurs(name string) bool {
	return name == lockName || name == manifest.FileName || strings.HasPrefix(name, "tmp-") ||
		manifest.SegmentName.MatchString(name)
}

// exists reports whether there is a file or folder at path; a broken symbolic link counts.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
