package serving

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"conclave/collection"
	"conclave/configs"
	"conclave/handlers"
	"conclave/jobs"
)

// snapshotsOf is the folder of snapshots.
func snapshotsOf(config configs.Config) string {
	if config.Snapshots != "" {
		return config.Snapshots
	}
	return filepath.Clean(config.Collection) + "-snapshots"
}

func (s *Server) checkSnapshot(r jobs.Request) error {
	if !plainName(r.Name) {
		return jobs.Refuse("invalid_name", "%q cannot be the name of a snapshot: letters, digits, - _ and ., at most 64, and no . in front", r.Name)
	}
	out := filepath.Join(snapshotsOf(s.config), r.Name)
	if err := collection.CheckSnapshot(out); err != nil {
		return jobs.Refuse("invalid_name", "%s", handlers.WithoutPaths(err.Error()))
	}
	if _, err := os.Lstat(out); err == nil {
		return jobs.Refuse("snapshot_exists", "there is a snapshot %q already", r.Name)
	}
	return nil
}

// plainName reports whether a name can be that of a folder, and of no other
// one than it seems to be.
func plainName(name string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
	return name != "" && len(name) <= 64 && name[0] != '.' && strings.Trim(name, letters) == ""
}

// makeSnapshot is the work of a snapshot.
func (s *Server) makeSnapshot(ctx context.Context, t jobs.Task) (jobs.Result, error) {
	folder := snapshotsOf(s.config)
	out := filepath.Join(folder, t.Name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return jobs.Result{}, err
	}
	if t.Attempts > 1 {
		if _, err := os.Lstat(out); err == nil {
			return readSnapshot(out) // it was made, and nobody wrote that down
		}
	}
	t.Report(jobs.Progress{Stage: "indexing what was written", Total: -1, Unit: "changes"})
	if err := s.flush(ctx, t.Report); err != nil {
		return jobs.Result{}, err
	}
	t.Report(jobs.Progress{Stage: "linking", Total: -1, Unit: "files"})
	report, err := s.live.Snapshot(ctx, out)
	if err != nil {
		return jobs.Result{}, err
	}
	return jobs.Result{Generation: report.Generation, Passages: report.Passages, Bytes: report.Bytes, Folder: out}, nil
}

func readSnapshot(out string) (result jobs.Result, err error) {
	c, err := collection.Open(out)
	if err != nil {
		return result, err
	}
	g := c.Acquire()
	result = jobs.Result{Generation: g.Number(), Passages: g.Len(), Folder: out}
	g.Release()
	return result, c.Close()
}

// flush waits until searches see what was acknowledged, and gives up when that
// keeps failing.
func (s *Server) flush(ctx context.Context, report func(jobs.Progress)) error {
	for {
		waiting, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := s.live.Flush(waiting)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		backlog := s.live.Backlog()
		if backlog.Trouble != nil {
			return fmt.Errorf("what was written cannot be indexed at the moment: %w", backlog.Trouble)
		}
		report(jobs.Progress{Stage: "indexing what was written", Done: 0, Total: int64(backlog.Changes), Unit: "changes"})
	}
}
