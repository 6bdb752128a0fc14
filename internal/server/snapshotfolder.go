package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"example.org/conclave/handlers"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/store"
)

// snapshotFolder is a folder of snapshots. It ignores other files in it, and snapshots that are still being made.
type snapshotFolder struct {
	path string
	read store.Snapshots
}

// snapshotList returns the snapshots on this machine; an empty list if the store makes none. s.writer must be set.
func (s *collection) snapshotList() handlers.Snapshots {
	read, err := s.writer.Snapshots()
	if err != nil {
		return noSnapshots{}
	}
	return snapshotFolder{snapshotsOf(s.config), read}
}

// List returns the snapshots in the folder, in the order of their names; an empty list if there is no folder. It
// leaves out folders that are not readable snapshots. It fails if the folder cannot be read.
func (s snapshotFolder) List() ([]handlers.SnapshotInfo, error) {
	entries, err := os.ReadDir(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the folder of snapshots: %w", err)
	}
	list := []handlers.SnapshotInfo{}
	for _, entry := range entries {
		at := filepath.Join(s.path, entry.Name())
		if !entry.IsDir() || !isPlainName(entry.Name()) || s.read.Check(at) != nil {
			continue
		}
		made, err := s.read.Read(at)
		if err != nil {
			continue
		}
		info := handlers.SnapshotInfo{Name: entry.Name(), Generation: made.Generation, Passages: made.Passages}
		if stat, err := entry.Info(); err == nil {
			info.Created = stat.ModTime().UTC()
		}
		list = append(list, info)
	}
	return list, nil
}

// Remove deletes a snapshot, or returns a *jobs.Refusal if there is none of this name. It renames the snapshot first,
// so that a half removed one is never taken for a whole one.
func (s snapshotFolder) Remove(name string) error {
	at := filepath.Join(s.path, name)
	if !isPlainName(name) || s.read.Check(at) != nil {
		return jobs.Refuse("unknown_snapshot", "there is no snapshot %q", name)
	}
	if _, err := s.read.Read(at); err != nil {
		return jobs.Refuse("unknown_snapshot", "there is no snapshot %q", name)
	}
	removed := filepath.Join(s.path, "."+name+".removed")
	if err := errors.Join(os.RemoveAll(removed), os.Rename(at, removed)); err != nil {
		return fmt.Errorf("removing the snapshot %q: %w", name, err)
	}
	return os.RemoveAll(removed)
}

// noSnapshots is the empty list of snapshots of a store that makes none.
type noSnapshots struct{}

// List returns an empty list. The error is always nil.
func (noSnapshots) List() ([]handlers.SnapshotInfo, error) { return []handlers.SnapshotInfo{}, nil }

// Remove returns a *jobs.Refusal, since there is no snapshot.
func (noSnapshots) Remove(name string) error {
	return jobs.Refuse("unknown_snapshot", "there is no snapshot %q", name)
}
