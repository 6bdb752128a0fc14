package collections

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.org/conclave/internal/disk"
)

// Folder is a data folder, with a folder for each collection. Collections that are being made or removed are beside
// them, under names that no collection has. One process makes and removes.
type Folder struct {
	disk disk.Disk
	path string

	mu       sync.Mutex // of making and removing
	removals int
}

// The names of what is being made, and of what is removed. Both are rubbish at a start.
const (
	makingPrefix  = ".making-"
	removedPrefix = ".removed-"
	// snapshotsName is the folder of the collections' snapshots, in a folder for each.
	snapshotsName = ".snapshots"
)

// OpenFolder opens a data folder. With write it makes the folder if there is none, and removes collections whose
// making or removal was interrupted. Without write a missing folder is an error.
func OpenFolder(d disk.Disk, path string, write bool) (*Folder, error) {
	f := &Folder{disk: d, path: path}
	entries, err := d.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) && write {
		if err := d.Mkdir(path); err != nil {
			return nil, fmt.Errorf("making the folder of collections: %w", err)
		}
		return f, d.SyncDir(filepath.Dir(filepath.Clean(path)))
	}
	if err != nil {
		return nil, fmt.Errorf("reading the folder of collections: %w", err)
	}
	for _, e := range entries {
		if name := e.Name(); write && (strings.HasPrefix(name, makingPrefix) || strings.HasPrefix(name, removedPrefix)) {
			if err := d.RemoveAll(filepath.Join(path, name)); err != nil {
				return nil, fmt.Errorf("finishing what was interrupted: %w", err)
			}
		}
	}
	return f, nil
}

// Path returns the folder of a collection.
func (f *Folder) Path(name string) string { return filepath.Join(f.path, name) }

// Snapshots returns the folder of a collection's snapshots.
func (f *Folder) Snapshots(name string) string { return filepath.Join(f.path, snapshotsName, name) }

// Disk returns the file system of the folder.
func (f *Folder) Disk() disk.Disk { return f.disk }

// Names returns the names of the collections, sorted; nil if there are none. A folder counts as one if it has any file
// that a collection has, even if that is damaged. It fails if the data folder or one of its folders cannot be read.
func (f *Folder) Names() (names []string, err error) {
	entries, err := f.disk.ReadDir(f.path)
	if err != nil {
		return nil, fmt.Errorf("reading the folder of collections: %w", err)
	}
	for _, e := range entries {
		has, err := f.Has(e.Name())
		if err != nil {
			return nil, err
		}
		if has {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Has reports whether there is a collection with this name; false for a name that no collection can have. It fails if
// the collection's folder cannot be read.
func (f *Folder) Has(name string) (bool, error) {
	if CheckName(name) != nil {
		return false, nil
	}
	for _, part := range []string{"MANIFEST", settingsName, "wal"} {
		_, err := f.disk.Stat(filepath.Join(f.Path(name), part))
		switch {
		case err == nil:
			return true, nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return false, fmt.Errorf("looking for the collection %s: %w", name, err)
		}
	}
	return false, nil
}

// Create makes a collection with its settings; now is when it was made. make writes it, durably, into an empty
// folder. Others see the collection as a whole or not at all, whatever happens meanwhile. The error is an *Error if
// the name is invalid or taken; after any error there is no collection.
func (f *Folder) Create(name string, s Settings, now time.Time, make func(dir string) error) (err error) {
	if err := CheckName(name); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.disk.Stat(f.Path(name)); err == nil {
		return newError(Exists, "there is a collection %q already", name)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	making := filepath.Join(f.path, makingPrefix+name)
	inside := filepath.Join(making, name) // by the name that it is to have
	if err := f.disk.RemoveAll(making); err != nil {
		return err
	}
	defer func() { _ = f.disk.RemoveAll(making) }() // else the next start does
	for _, folder := range []string{making, inside} {
		if err := f.disk.Mkdir(folder); err != nil {
			return err
		}
	}
	if err := make(inside); err != nil {
		return err
	}
	if err := Write(f.disk, inside, s, now); err != nil {
		return err
	}
	if err := f.disk.Rename(inside, f.Path(name)); err != nil {
		return err
	}
	if err := f.disk.SyncDir(f.path); err != nil {
		return errors.Join(
			fmt.Errorf("the collection %s may be gone after a power cut: %w", name, err), f.removeFolder(name),
		)
	}
	return nil
}

// Remove removes a collection, which must not be open, and its snapshots. As soon as it has lost its name, another one
// can be made under the name. The error is an *Error if there is none.
func (f *Folder) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	has, err := f.Has(name)
	if err != nil {
		return err
	}
	if !has {
		return UnknownError(name)
	}
	return f.removeFolder(name)
}

// removeFolder renames the folders of a collection and its snapshots, so that no collection has the name any more, and
// removes them. Missing folders are no error. If a folder cannot be renamed, the collection may still be there; after
// any later error it has lost its name, and the next start removes the rest. The error's text says which. The caller
// holds mu.
func (f *Folder) removeFolder(name string) error {
	var gone []string
	for _, at := range []string{f.Snapshots(name), f.Path(name)} {
		if _, err := f.disk.Stat(at); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		to, err := f.tombstoneName(name)
		if err != nil {
			return err
		}
		if err := f.disk.Rename(at, to); err != nil {
			return fmt.Errorf("removing the collection %s: %w", name, err)
		}
		gone = append(gone, to)
	}
	if err := f.disk.SyncDir(f.path); err != nil {
		return fmt.Errorf("the collection %s is removed, and may be back after a power cut: %w", name, err)
	}
	for _, at := range gone {
		if err := f.disk.RemoveAll(at); err != nil {
			return fmt.Errorf("the collection %s is removed, but not all of its files: the next start removes them: %w", name, err)
		}
	}
	return nil
}

// tombstoneName returns an unused path to which something can be renamed before it is removed. It fails if the folder
// cannot be read. The caller holds mu.
func (f *Folder) tombstoneName(name string) (string, error) {
	for {
		f.removals++
		at := filepath.Join(f.path, removedPrefix+strconv.Itoa(f.removals)+"-"+name)
		_, err := f.disk.Stat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return at, nil
		}
		if err != nil {
			return "", fmt.Errorf("removing the collection %s: %w", name, err)
		}
	}
}
