// Package disk has the operations of the file system that a collection uses. Tests
// replace it with a disk that fails, or that forgets what was not synced.
package disk

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Disk is a file system. Files and folders that it makes are their owner's
// alone. Its methods may be called by several goroutines at once.
type Disk interface {
	// Mkdir makes a folder. Its name is durable after SyncDir of its parent.
	Mkdir(path string) error
	// ReadDir lists a folder by name.
	ReadDir(path string) ([]fs.DirEntry, error)
	// Stat describes a file.
	Stat(path string) (fs.FileInfo, error)
	// ReadFile reads all of a file.
	ReadFile(path string) ([]byte, error)
	// WriteFile makes or empties a file and writes data to it.
	WriteFile(path string, data []byte) error
	// Open opens a file for reading.
	Open(path string) (File, error)
	// CreateFile makes a file. It fails with fs.ErrExist if there is one.
	CreateFile(path string) (File, error)
	// CreateTemp makes a file in a folder; a random number stands for the last *
	// of its name.
	CreateTemp(folder, pattern string) (File, error)
	// Create makes a file that is only appended to. It fails with fs.ErrExist if there is one.
	Create(path string) (File, error)
	// OpenAppend opens an existing file that is only appended to.
	OpenAppend(path string) (File, error)
	// Map maps a regular file into memory for reading.
	Map(path string) (*Mapping, error)
	// MapScratch returns size bytes of memory, each with the value fill, that may be read and written. They lie in a
	// file without a name in a folder, which is gone after Close and after the end of the process.
	MapScratch(folder string, size int64, fill byte) (*Mapping, error)
	// SyncFile makes the content of a file durable.
	SyncFile(path string) error
	// SyncDir makes the names in a folder durable.
	SyncDir(path string) error
	// Rename gives a file or folder another name, replacing a file that has it.
	Rename(from, to string) error
	// Link gives a file another name.
	Link(from, to string) error
	// Remove removes a file.
	Remove(path string) error
	// RemoveAll removes a file or a folder with all that is in it.
	RemoveAll(path string) error
	// Free returns how many bytes may still be written to the file system of a path; known is false if the system does
	// not say.
	Free(path string) (bytes int64, known bool)
}

// File is an open file. What was written is durable after Sync, its name after
// SyncDir of its folder.
type File interface {
	io.ReadWriteSeeker
	io.ReaderAt
	io.WriterAt
	Name() string
	Sync() error
	Close() error
}

// OS is the file system of the operating system.
type OS struct{}

// Mkdir makes a folder that only its owner may use. Its parent must exist. It fails if there is a file of this name.
func (OS) Mkdir(path string) error { return Mkdir(path, 0o700) }

// ReadDir returns the entries of a folder, sorted by name.
func (OS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// Stat describes a file; it follows links.
func (OS) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }

// ReadFile returns the content of a file.
func (OS) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

// WriteFile replaces the content of a file, or makes it, for the owner alone. It does not sync.
func (OS) WriteFile(path string, data []byte) error { return os.WriteFile(path, data, 0o600) }

// Open opens a file for reading.
func (OS) Open(path string) (File, error) { return asFile(os.Open(path)) }

// CreateFile makes a new file for reading and writing. It fails with fs.ErrExist if there is one.
func (OS) CreateFile(path string) (File, error) {
	return asFile(os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600))
}

// CreateTemp makes a new file in a folder, for reading and writing; a random number stands for the last * of pattern.
func (OS) CreateTemp(folder, pattern string) (File, error) {
	return asFile(os.CreateTemp(folder, pattern))
}

// Create makes a new file that is only appended to. It fails with fs.ErrExist if there is one.
func (OS) Create(path string) (File, error) {
	return asFile(os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600))
}

// OpenAppend opens an existing file to append to it. It fails with fs.ErrNotExist if there is none.
func (OS) OpenAppend(path string) (File, error) {
	return asFile(os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o600))
}

// asFile returns file and err, with a nil File in the place of a nil *os.File.
func asFile(file *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return file, nil
}

// SyncFile makes the content of a file durable. The file may be open elsewhere.
func (OS) SyncFile(path string) error { return syncPath(path) }

// SyncDir makes the names in a folder durable, as after Create or Rename.
func (OS) SyncDir(path string) error { return syncPath(path) }

// Rename renames a file or folder, replacing a file that has the name. The new name is durable after SyncDir.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Link gives a file another name.
func (OS) Link(from, to string) error { return os.Link(from, to) }

// Remove removes a file or an empty folder.
func (OS) Remove(path string) error { return os.Remove(path) }

// RemoveAll removes a file, or a folder with everything in it. It does nothing if there is none.
func (OS) RemoveAll(path string) error { return os.RemoveAll(path) }

// syncPath syncs a file or folder to the disk and waits for that. Its descriptor need not be the one that wrote: what
// is synced is the file. It fails if the file cannot be opened or synced.
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

// Free returns how many bytes a user may still write to the file system of a path; known is false if the system does
// not say.
func (OS) Free(path string) (bytes int64, known bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
