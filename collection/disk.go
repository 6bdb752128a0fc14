package collection

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// disk is the few operations that durability rests on, in one place, so that a
// test can stand in for a disk that forgets whatever was not synced. Writers of
// segment files (corpus, bm25, ann) use the file system themselves; what they
// wrote counts from the SyncFile and SyncDir that are asked for here.
type disk interface {
	// Mkdir makes a folder. Its name is durable after SyncDir of its parent.
	Mkdir(path string) error
	// WriteFile makes or empties a file and writes data to it.
	WriteFile(path string, data []byte) error
	// SyncFile makes the content of a file durable.
	SyncFile(path string) error
	// SyncDir makes the names in a folder durable.
	SyncDir(path string) error
	// Rename gives a file or folder another name, replacing a file that has it.
	Rename(from, to string) error
	// Link gives a file another name.
	Link(from, to string) error
	// RemoveAll removes a file or a folder with all that is in it.
	RemoveAll(path string) error
	// Create makes a new file for a log.
	Create(path string) (logFile, error)
	// OpenAppend opens a file of a log that exists.
	OpenAppend(path string) (logFile, error)
	// Free is how many bytes may still be written to the file system of a path,
	// where that is known.
	Free(path string) (bytes int64, known bool)
}

// logFile is a file that grows at its end. What was written is durable after
// Sync.
type logFile interface {
	Write(b []byte) (int, error)
	Sync() error
	Truncate(size int64) error
	Close() error
}

// osDisk is the real one.
type osDisk struct{}

func (osDisk) Mkdir(path string) error { return os.Mkdir(path, 0o700) }

func (osDisk) WriteFile(path string, data []byte) error { return os.WriteFile(path, data, 0o600) }

func (osDisk) SyncFile(path string) error { return syncPath(path) }

func (osDisk) SyncDir(path string) error { return syncPath(path) }

func (osDisk) Rename(from, to string) error { return os.Rename(from, to) }

func (osDisk) Link(from, to string) error { return os.Link(from, to) }

func (osDisk) RemoveAll(path string) error { return os.RemoveAll(path) }

func (osDisk) Create(path string) (logFile, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
}

func (osDisk) OpenAppend(path string) (logFile, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o600)
}

// syncPath writes a file or folder through to the disk. Syncing through
// another descriptor than the one that wrote is fine: what is synced is the
// file.
func syncPath(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	err = file.Sync()
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("syncing %s: %w", path, err)
	}
	return nil
}

// explainDisk adds to an error of the file system what a person can do.
func explainDisk(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: the disk is full; free some space and start again (the collection is as it was before)", err)
	case errors.Is(err, syscall.EFBIG):
		return fmt.Errorf("%w: files of this size are not allowed (ulimit -f, or the file system's limit); the collection is as it was before", err)
	case errors.Is(err, syscall.EROFS), errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: the folder must be writable for this user; reading and serving need no such right", err)
	}
	return err
}
