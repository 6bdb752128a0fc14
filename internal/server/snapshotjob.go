package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.org/conclave/configs"
	"example.org/conclave/handlers"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/wording"
	"example.org/conclave/store"
)

// snapshotsOf returns the path of the folder for snapshots: the configured one, or COLLECTION-snapshots beside the
// collection.
func snapshotsOf(config configs.Config) string {
	if config.Snapshots != "" {
		return config.Snapshots
	}
	return filepath.Clean(config.Collection) + "-snapshots"
}

// checkSnapshot returns a *jobs.Refusal of a snapshot job if its name is invalid or taken, or if the folder cannot
// hold a snapshot. It returns another error if the store makes none.
func (s *collection) checkSnapshot(r jobs.Request) error {
	if !isPlainName(r.Name) || strings.Contains("-_", r.Name[:1]) {
		return jobs.Refuse(
			"invalid_name",
			"%q cannot be the name of a snapshot: letters, digits, - _ and ., at most 64, beginning with a letter or a digit",
			r.Name,
		)
	}
	snapshots, err := s.writer.Snapshots()
	if err != nil {
		return err
	}
	out := filepath.Join(snapshotsOf(s.config), r.Name)
	if err := snapshots.Check(out); err != nil {
		return jobs.Refuse("invalid_name", "%s", handlers.WithoutPaths(err.Error()))
	}
	if _, err := os.Lstat(out); err == nil {
		return jobs.Refuse("snapshot_exists", "there is a snapshot %q already", r.Name)
	}
	return nil
}

// isPlainName reports whether name can be a snapshot's folder and cannot lead out of the folder of snapshots: 1 to 64
// letters, digits, - _ and ., not beginning with a dot.
func isPlainName(name string) bool {
	return name != "" && len(name) <= 64 && name[0] != '.' && strings.Trim(name, wording.NameLetters+".") == ""
}

// makeSnapshot runs a job that makes a snapshot in the folder of snapshots, once searches see what was written
// before. If an earlier attempt of the job has made it already, it returns that one. It fails if another snapshot has
// the name.
func (s *collection) makeSnapshot(ctx context.Context, t jobs.Task) (jobs.Result, error) {
	dir := snapshotsOf(s.config)
	out := filepath.Join(dir, t.Name)
	if err := disk.MkdirAll(dir, 0o700); err != nil {
		return jobs.Result{}, err
	}
	snapshots, err := s.writer.Snapshots()
	if err != nil {
		return jobs.Result{}, err
	}
	id, again, err := snapshotID(t.Scratch, snapshots)
	if err != nil {
		return jobs.Result{}, err
	}
	if _, err := os.Lstat(out); again && err == nil {
		made, err := snapshots.Read(out)
		if err == nil && made.ID != id {
			err = fmt.Errorf("%s is there, and this job did not make it: ask for a snapshot of another name", out)
		}
		return madeSnapshot(made, out), err // it was made, and nobody wrote that down
	}
	t.Report(jobs.Progress{Stage: "indexing what was written", Total: -1, Unit: "changes"})
	if err := s.awaitVisible(ctx, t.Report); err != nil {
		return jobs.Result{}, err
	}
	t.Report(jobs.Progress{Stage: "linking", Total: -1, Unit: "files"})
	made, err := snapshots.Make(ctx, out, id)
	if err != nil {
		return jobs.Result{}, err
	}
	return madeSnapshot(made, out), nil
}

// madeSnapshot returns the result of a job that made snapshot s in the folder out.
func madeSnapshot(s store.Snapshot, out string) jobs.Result {
	return jobs.Result{Generation: s.Generation, Passages: s.Passages, Bytes: s.Bytes, Folder: out}
}

// snapshotID returns the id of the snapshot that a job makes. If an earlier attempt wrote one to file, it returns
// that, and again is true; otherwise it writes a new one there, durably. It fails if the file cannot be read or
// written.
func snapshotID(file string, snapshots store.Snapshots) (id string, again bool, err error) {
	data, err := os.ReadFile(file)
	if err == nil {
		return string(data), true, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", false, err
	}
	id = snapshots.NewID()
	return id, false, disk.ReplaceFile(disk.OS{}, file, func(f *disk.Replacement) error {
		_, err := f.Write([]byte(id))
		return err
	})
}

// awaitVisible waits until searches see all acknowledged writes, and calls report with the number of changes that are
// left. It returns an error if these cannot be indexed at the moment, or ctx ends.
func (s *collection) awaitVisible(ctx context.Context, report func(jobs.Progress)) error {
	return s.writer.Visible(ctx, func(backlog store.Backlog) error {
		if backlog.Trouble != nil {
			return fmt.Errorf("what was written cannot be indexed at the moment: %w", backlog.Trouble)
		}
		report(jobs.Progress{Stage: "indexing what was written", Done: 0, Total: int64(backlog.Changes), Unit: "changes"})
		return nil
	})
}
