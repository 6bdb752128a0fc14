package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"example.org/conclave/internal/disk"
	"example.org/conclave/store/folder/internal/manifest"
	"example.org/conclave/store/folder/internal/wal"
)

// SnapshotReport says what a snapshot holds.
type SnapshotReport struct {
	Generation uint64
	Passages   int
	Files      int
	Bytes      int64 // that it shares with the collection
	// Pending is how many changes of the log are not in it: those that were
	// acknowledged and no server has made visible yet.
	Pending int
}

// Snapshot copies the newest generation of the collection in dir to the new folder out, by hard links: that is quick,
// and takes no space until the collection drops the files. Both must be on one file system. The copy is a complete
// collection with an identity of its own. It is made as out.tmp and renamed, so it is there whole or not at all; what
// an interrupted snapshot left is replaced. It needs no lock and works while a server has the collection, but a change
// that is only in the log is not in the copy (Live.Snapshot). It fails if out exists or a link cannot be made, as
// between two file systems.
func Snapshot(ctx context.Context, dir, out string) (report SnapshotReport, err error) {
	id := NewID()
	err = withNewest(disk.OS{}, dir, func(m *manifest.Manifest) (err error) {
		report, err = snapshot(ctx, disk.OS{}, dir, out, id, m)
		return err
	})
	return report, err
}

// snapshotTo copies the writer's present generation to the new folder out by hard links, with id as the identity of the
// copy. It holds w.mu, so that no generation is published meanwhile. If it fails before the copy has its name, nothing
// is left; an error after that says that the copy is there and might not survive a power cut.
func (w *writer) snapshotTo(ctx context.Context, out, id string) (SnapshotReport, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return snapshot(ctx, w.disk, w.dir, out, id, w.manifest)
}

// snapshot copies the generation of manifest m to the folder out by hard links, and returns what it holds. id becomes
// the identity of the copy. It works in out.tmp and renames that; if it fails before the renaming, nothing is left.
// The error after it says that the snapshot is there and might not survive a power cut. dir is the collection's
// folder.
func snapshot(
	ctx context.Context,
	d disk.Disk,
	dir, out, id string,
	m *manifest.Manifest,
) (report SnapshotReport, err error) {
	if m.Generation == 0 {
		return report, fmt.Errorf("the first build of %s was interrupted: there is nothing to copy", dir)
	}
	if err := errors.Join(checkFolderName("snapshot", out), CheckSnapshot(out)); err != nil {
		return report, err
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return report, fmt.Errorf("%s is not empty: name a new or an empty folder for the snapshot", out)
	}
	report = SnapshotReport{Generation: m.Generation, Passages: m.Live()}
	if err := wal.Each(d, dir, m.ID, m.Applied, func(uint64, wal.Kind, []byte, wal.ContentPlace) error {
		report.Pending++
		return nil
	}); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return report, err
	}
	parent := filepath.Dir(filepath.Clean(out))
	making := filepath.Clean(out) + makingSuffix
	if err := disk.MkdirAll(parent, 0o700); err != nil {
		return report, disk.Explain(err)
	}
	held, err := beginSnapshot(d, making)
	if err != nil {
		return report, disk.Explain(err)
	}
	named := false
	defer func() {
		if err != nil && !named {
			_ = d.RemoveAll(making) // else the next snapshot of this name does
		}
		err = disk.Explain(err)
		_ = unlock(held)
	}()
	for i := range m.Segments {
		if err := ctx.Err(); err != nil {
			return report, err
		}
		s := &m.Segments[i]
		to := filepath.Join(making, s.Name)
		if err := d.Mkdir(to); err != nil {
			return report, err
		}
		for _, f := range s.Files() {
			if err := link(d, filepath.Join(dir, s.Name, f.Name), filepath.Join(to, f.Name)); err != nil {
				return report, err
			}
			report.Files++
			report.Bytes += f.Size
		}
		if err := d.SyncDir(to); err != nil {
			return report, err
		}
	}
	if err := linkOriginals(ctx, d, dir, making, &report); err != nil {
		return report, err
	}
	for _, name := range []string{calibrationName, judgmentsName, settingsName, rootsName} {
		if err := copyIfThere(d, filepath.Join(dir, name), filepath.Join(making, name)); err != nil {
			return report, err
		}
	}
	// The copy is a collection of its own, with an empty log. Its next change has the number after
	// m.Applied, as a later change of the original may have too.
	own := *m
	own.ID = id
	if _, err := manifest.Write(d, making, &own); err != nil {
		return report, err
	}
	_ = os.Remove(out) // an empty folder may be in the way
	if err := d.Rename(making, out); err != nil {
		return report, err
	}
	named = true
	_ = d.RemoveAll(filepath.Join(out, snapshotMark)) // else the copy's first writer does
	if err := d.SyncDir(parent); err != nil {
		return report, fmt.Errorf(
			"the snapshot %s is made and can be used, but might not survive a power cut: %w", out, err,
		)
	}
	return report, nil
}

// calibrationName is the file that calibration writes into a collection.
const calibrationName = "calibration.yaml"

// judgmentsName is the file of what was judged of a collection's answers, internal/judgments' FileName.
const judgmentsName = "judgments.jsonl"

// settingsName is the file of a collection's settings, internal/collections' SettingsFile: its synonyms and types.
const settingsName = "collection.yaml"

// originalsName is the folder of the copies of uploaded files, by their SHA-256, internal/originals' FolderName.
const originalsName = "originals"

// rootsName is the file that says where followed folders are, internal/originals' RootsName.
const rootsName = "roots.json"

// linkOriginals links the copies of uploaded files into a snapshot and counts them in report. A copy that is removed
// meanwhile is skipped: it belongs to no document of the snapshot's generation. It fails if a link cannot be made or
// ctx ends. dir is the collection's folder, making that of the snapshot.
func linkOriginals(ctx context.Context, d disk.Disk, dir, making string, report *SnapshotReport) error {
	entries, err := d.ReadDir(filepath.Join(dir, originalsName))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	to := filepath.Join(making, originalsName)
	if err := d.Mkdir(to); err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := e.Info()
		if strings.HasPrefix(e.Name(), "tmp-") || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = link(d, filepath.Join(dir, originalsName, e.Name()), filepath.Join(to, e.Name()))
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		report.Files++
		report.Bytes += info.Size()
	}
	return d.SyncDir(to)
}

// link gives a file another name, and explains the error if the names are on different file systems.
func link(d disk.Disk, from, to string) error {
	err := d.Link(from, to)
	if errors.Is(err, syscall.EXDEV) {
		return fmt.Errorf(
			"%w: a snapshot is made of hard links, so it must be on the collection's file system; copy it from there",
			err,
		)
	}
	return err
}

// copyIfThere copies a small file and syncs the copy, or does nothing if there is none. It is for files that are
// replaced by others, which a link would not protect. It fails if a file cannot be read or written.
func copyIfThere(d disk.Disk, from, to string) error {
	data, err := d.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := d.WriteFile(to, data); err != nil {
		return err
	}
	return d.SyncFile(to)
}
