package disk

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Replacement is a file that replaces another one when it is complete and durable (Commit), and not before.
type Replacement struct {
	File
	disk Disk
	path string
	done bool
}

// unfinished is a part of the name of a file that is not committed yet. The name also begins with a dot.
const unfinished = ".tmp-"

// Unfinished reports whether a file with this name is one of a Replacement that was not committed.
func Unfinished(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, unfinished)
}

// Replace begins a temporary file in the folder of path that will replace the file at path. That file stays as it is
// until Commit, and need not exist. The caller has to call Commit or Abort. It fails if the temporary file cannot be
// made.
func Replace(d Disk, path string) (*Replacement, error) {
	file, err := d.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+unfinished+"*")
	if err != nil {
		return nil, fmt.Errorf("making a temporary file for %s: %w", path, err)
	}
	return &Replacement{File: file, disk: d, path: path}, nil
}

// Commit syncs the file, renames it to its path and syncs the folder: when it returns nil, the file survives a
// power cut under its name. If the renaming or a step before it fails, the file is removed and the one at path
// stays. An error of syncing the folder leaves the new file at path, but it may not survive.
func (r *Replacement) Commit() error {
	err := r.Sync()
	if closed := r.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = r.disk.Rename(r.Name(), r.path)
	}
	if err != nil {
		r.Abort()
		return err
	}
	r.done = true
	return r.disk.SyncDir(filepath.Dir(r.path))
}

// Abort closes and removes the file. After Commit it does nothing.
func (r *Replacement) Abort() {
	if r.done {
		return
	}
	r.done = true
	_ = r.Close()               // the file is thrown away: what closing says does not matter
	_ = r.disk.Remove(r.Name()) // else it stays as a file that nobody reads
}

// ReplaceFile writes a file with write and commits it; if write fails, nothing is changed. A reader of path sees
// the old content or the new one, never a part. When it returns nil, the file survives a power cut.
func ReplaceFile(d Disk, path string, write func(file *Replacement) error) error {
	file, err := Replace(d, path)
	if err != nil {
		return err
	}
	defer file.Abort()
	err = write(file)
	if err == nil {
		err = file.Commit()
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
