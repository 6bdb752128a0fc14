package collection

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Writer is the one that may change a collection. It holds the lock from
// OpenWriter to Close. Its methods are called one at a time.
type Writer struct {
	dir      string
	disk     disk
	lock     *os.File
	manifest *manifest
}

// OpenWriter takes the lock of an existing collection and removes what an
// interrupted writer left behind. ErrLocked when there is another writer,
// ErrNotCollection when there is no collection.
func OpenWriter(dir string) (*Writer, error) { return openWriter(osDisk{}, dir) }

func openWriter(d disk, dir string) (*Writer, error) {
	if _, err := readManifest(dir); err != nil {
		return nil, err // before a LOCK is made in a folder that is not ours
	}
	file, err := lock(dir)
	if err != nil {
		return nil, err
	}
	w := &Writer{dir: dir, disk: d, lock: file}
	// Once more: it may have changed before the lock was ours.
	if w.manifest, err = readManifest(dir); err == nil {
		err = w.removeLeftovers()
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return w, nil
}

// createWriter makes the folder of a new collection and publishes generation 0,
// which no reader opens. From then on the folder is known to be a collection's,
// so that a writer that comes after a crash may clear it.
func createWriter(d disk, dir string) (w *Writer, err error) {
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, explainDisk(err)
	}
	if err := d.Mkdir(dir); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, explainDisk(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if name := e.Name(); name != lockName && name != manifestPending && !exists(filepath.Join(dir, manifestName)) {
			return nil, fmt.Errorf("%s is not empty and holds %w (it has %s): name a new or an empty folder", dir, ErrNotCollection, name)
		}
	}
	file, err := lock(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()
	w = &Writer{dir: dir, disk: d, lock: file}
	w.manifest, err = readManifest(dir)
	switch {
	case errors.Is(err, ErrNotCollection):
		var id [16]byte
		_, _ = rand.Read(id[:]) // never fails
		w.manifest = &manifest{ID: hex.EncodeToString(id[:]), NextSegment: 1}
		if err := writeManifest(d, dir, w.manifest); err != nil {
			return nil, explainDisk(err)
		}
		if err := d.SyncDir(parent); err != nil {
			return nil, explainDisk(err)
		}
	case err != nil:
		return nil, err
	case w.manifest.Generation > 0:
		return nil, fmt.Errorf("%s holds a collection already (%d passages): add to it, or name another folder", dir, w.manifest.passages())
	}
	return w, w.removeLeftovers()
}

// Close gives the lock back.
func (w *Writer) Close() error {
	if w.lock == nil {
		return nil
	}
	err := w.lock.Close()
	w.lock = nil
	return err
}

// publish makes m the collection's manifest. Its files must be durable.
func (w *Writer) publish(ctx context.Context, m *manifest) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := writeManifest(w.disk, w.dir, m); err != nil {
		return explainDisk(fmt.Errorf("publishing generation %d: %w", m.Generation, err))
	}
	w.manifest = m
	return nil
}

// removeLeftovers removes every file and folder that the manifest does not
// name, of those that a writer makes. What it does not know, it leaves.
func (w *Writer) removeLeftovers() error {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for i := range w.manifest.Segments {
		s := &w.manifest.Segments[i]
		named[s.Name] = true
		for _, f := range s.files() {
			named[s.Name+"/"+f.Name] = true
		}
	}
	var errs []error
	for _, e := range entries {
		name := e.Name()
		switch {
		case strings.HasPrefix(name, "tmp-"), segmentName.MatchString(name) && !named[name]:
			errs = append(errs, w.disk.RemoveAll(filepath.Join(w.dir, name)))
		case named[name]:
			inside, err := os.ReadDir(filepath.Join(w.dir, name))
			errs = append(errs, err)
			for _, f := range inside {
				if !named[name+"/"+f.Name()] {
					errs = append(errs, w.disk.RemoveAll(filepath.Join(w.dir, name, f.Name())))
				}
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return explainDisk(fmt.Errorf("clearing up %s: %w", w.dir, err))
	}
	return nil
}

// ours reports whether a name in a collection's folder is one that a writer
// gives.
func ours(name string) bool {
	return name == lockName || name == manifestName || strings.HasPrefix(name, "tmp-") || segmentName.MatchString(name)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
