package disk

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Replacement is a file that gets its name when it is whole and durable, and not
// before.
type Replacement struct {
	File
	disk Disk
	path string
	done bool
}

// unfinished is part of the name of a file that is not committed yet. The name begins
// with a dot.
const unfinished = ".tmp-"

// Unfinished reports whether a file of this name was not committed when its writer
// ended.
func Unfinished(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, unfinished)
}

// Replace begins a file at path. What has that name keeps it until Commit.
func Replace(d Disk, path string) (*Replacement, error) {
	file, err := d.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+unfinished+"*")
	if err != nil {
		return nil, fmt.Errorf("making a temporary file for %s: %w", path, err)
	}
	return &Replacement{File: file, disk: d, path: path}, nil
}

// Commit syncs the file, gives it its name and syncs the folder: when it returns
// nil the file survives a power cut under its name.
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

// Abort removes what was written. After Commit it does nothing.
func (r *Replacement) Abort() {
	if r.done {
		return
	}
	r.done = true
	_ = r.Close()               // the file is thrown away: what closing says does not matter
	_ = r.disk.Remove(r.Name()) // else it stays as a file that nobody reads
}

// ReplaceFile writes a file whole or not at all: a reader of path sees the old
// content or the new, never a part.
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
