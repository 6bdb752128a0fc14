package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/internal/disk"
	"example.org/conclave/store/folder/internal/manifest"
)

// snapshotMark is a file that marks a folder in which a snapshot is made. It is
// created before anything else and removed after the folder has got its name, so a
// folder that has it was left by an interrupted snapshot. If it is left in a whole
// snapshot, the next writer removes it, as every file whose name begins with tmp-.
const snapshotMark = "tmp-snapshot"

const snapshotMarkText = "A snapshot is being made here, or was interrupted: making it again replaces this folder.\n"

// makingSuffix ends the name of a snapshot while it is made. The name of no finished
// snapshot ends with it.
const makingSuffix = ".tmp"

// CheckSnapshot returns an error if no snapshot can be made as the folder out: its name ends with .tmp, as unfinished
// ones do, or it lies in a collection, whose writers remove what they do not know.
func CheckSnapshot(out string) error {
	if name := filepath.Base(out); strings.HasSuffix(strings.ToLower(name), makingSuffix) {
		return fmt.Errorf(
			"%q cannot be the name of a snapshot: %s at its end marks one that is being made; choose another name",
			name, makingSuffix,
		)
	}
	return checkOutsideCollections(out)
}

// checkFolderName returns an error if the name of a new folder does not begin with a letter or a digit: most programs
// take - for an option and hide names that begin with a full stop. kind names the kind of folder in the error, such as
// snapshot.
func checkFolderName(kind, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	name := filepath.Base(path)
	if first, _ := utf8.DecodeRuneInString(name); unicode.IsLetter(first) || unicode.IsDigit(first) ||
		name == string(filepath.Separator) {
		return nil
	}
	return fmt.Errorf("%q cannot be the name of a %s: it has to begin with a letter or a digit", name, kind)
}

// checkOutsideCollections returns an error for a path below a collection's folder, where a writer might remove it.
func checkOutsideCollections(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	parent := filepath.Dir(path)
	for !exists(parent) && parent != filepath.Dir(parent) {
		parent = filepath.Dir(parent)
	}
	if resolved, err := filepath.EvalSymlinks(parent); err == nil {
		parent = resolved
	}
	for ; ; parent = filepath.Dir(parent) {
		if holdsManifest(parent) {
			return fmt.Errorf(
				"%s would lie in the collection %s, which keeps its folder for itself: name a folder outside", path,
				parent,
			)
		}
		if parent == filepath.Dir(parent) {
			return nil
		}
	}
}

// holdsManifest reports whether the file manifest.FileName in a folder begins as a manifest does; what follows may be
// damaged. It is false if the file is not there or cannot be read.
func holdsManifest(dir string) bool {
	file, err := os.Open(filepath.Join(dir, manifest.FileName))
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	begin := make([]byte, len(manifest.Begin))
	_, err = io.ReadFull(file, begin)
	return err == nil && string(begin) == manifest.Begin
}

// beginSnapshot makes and locks the folder in which a snapshot is made, marks it, and removes what an interrupted
// snapshot left there. The caller unlocks held. It fails if another snapshot is being made there, or the folder holds
// anything else (checkLeftOver).
func beginSnapshot(d disk.Disk, making string) (held *os.File, err error) {
	if err := d.Mkdir(making); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("making a snapshot: %w", err)
	}
	if err := checkLeftOver(d, making); err != nil { // before a LOCK is made in a folder that is not ours
		return nil, err
	}
	held, err = lock(d, making)
	if err != nil {
		if errors.Is(err, ErrLocked) {
			err = fmt.Errorf("a snapshot is being made in %s already: wait for it to end, or name another folder", making)
		}
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = unlock(held)
		}
	}()
	if err := checkLeftOver(d, making); err != nil { // once more: it may have changed before the lock was ours
		return nil, err
	}
	entries, err := d.ReadDir(making)
	if err != nil {
		return nil, err
	}
	for _, e := range entries { // the mark last
		if name := e.Name(); name != lockName && name != snapshotMark {
			err = errors.Join(err, d.RemoveAll(filepath.Join(making, name)))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("removing an interrupted snapshot: %w", err)
	}
	if err := d.WriteFile(filepath.Join(making, snapshotMark), []byte(snapshotMarkText)); err != nil {
		return nil, err
	}
	return held, d.SyncDir(making)
}

// checkLeftOver returns an error if a folder is neither empty nor marked as an interrupted snapshot. A LOCK file alone
// counts as empty.
func checkLeftOver(d disk.Disk, making string) error {
	entries, err := d.ReadDir(making)
	if err != nil {
		return fmt.Errorf(
			"%s is in the way of a snapshot, and is no folder that one was made in: remove or rename it (%w)", making,
			err,
		)
	}
	foreign := ""
	for _, e := range entries {
		if e.Name() == snapshotMark {
			return nil
		}
		if e.Name() != lockName {
			foreign = e.Name()
		}
	}
	if foreign != "" {
		return fmt.Errorf(
			"%s is in the way of a snapshot, and is not what an interrupted one left (it has %s): remove or rename it, or name another folder for the snapshot",
			making, foreign,
		)
	}
	return nil
}
