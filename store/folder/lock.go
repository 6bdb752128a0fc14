package folder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.org/conclave/internal/disk"

	"golang.org/x/sys/unix"
)

const lockName = "LOCK"

// ErrLocked is the error when another process, or another part of this one,
// writes to the collection.
var ErrLocked = errors.New("another process writes to the collection")

// lock takes the right to write to the folder dir without waiting, and returns the open lock file, which unlock
// takes. It returns ErrLocked if another writer has the right. The system gives it back when the process ends. The
// file's text names the process for people.
func lock(d disk.Disk, dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, disk.Explain(fmt.Errorf("locking %s: %w", dir, err))
	}
	err = disk.Uninterrupted(func() error { return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	if err == nil {
		if found, err := leadsTo(path, d, file); err == nil && !found {
			// A first build that failed removed the folder's content between
			// our two calls: this lock is on a file that has lost its name.
			_ = file.Close()
			return lock(d, dir)
		}
		err = file.Truncate(0)
		if err == nil {
			_, err = fmt.Fprintf(file, "process %d\n", os.Getpid())
		}
		if err != nil {
			_ = unlock(file)
			return nil, disk.Explain(fmt.Errorf("locking %s: %w", dir, err))
		}
		return file, nil
	}
	holder := make([]byte, 100)
	n, _ := file.ReadAt(holder, 0) // says nothing when it cannot be read
	_ = file.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		who := strings.TrimSpace(string(holder[:n]))
		if who == "" {
			who = "another process"
		}
		return nil, fmt.Errorf(
			"%w %s: %s is indexing into it or serving it with writes; wait for it to end or stop it", ErrLocked, dir,
			who,
		)
	}
	return nil, fmt.Errorf("locking %s: %w", dir, err)
}

// unlock gives a lock back. It unlocks before it closes: a process that is just being started may share the open file
// until it runs. It returns the errors of both.
func unlock(file *os.File) error {
	return errors.Join(unix.Flock(int(file.Fd()), unix.LOCK_UN), file.Close())
}

// leadsTo reports whether path still names the open file. It returns false without an error if the file was removed or
// replaced.
func leadsTo(path string, d disk.Disk, file *os.File) (bool, error) {
	now, err := d.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	opened, err := file.Stat()
	return err == nil && os.SameFile(now, opened), err
}
