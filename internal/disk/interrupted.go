package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A signal may interrupt a system call (EINTR), which is then made again. Some file systems over
// a network interrupt every call: package os makes it again without end.
const (
	interruptions = 100                   // after which an interrupted call fails
	afterOne      = 10 * time.Millisecond // at most, before it is made again
)

// Uninterrupted repeats a call while it is interrupted (EINTR), with short pauses, and returns its error: EINTR
// after 100 interruptions, as the call would never succeed.
func Uninterrupted(call func() error) (err error) {
	for i := range interruptions {
		err = call()
		if !errors.Is(err, unix.EINTR) {
			return err
		}
		time.Sleep(min(time.Duration(i)*time.Millisecond/4, afterOne))
	}
	return err
}

// Mkdir makes a folder, as os.Mkdir does, but fails if the call is interrupted without end.
func Mkdir(path string, mode fs.FileMode) error {
	err := Uninterrupted(func() error { return unix.Mkdir(path, uint32(mode.Perm())) })
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: path, Err: err}
	}
	return nil
}

// MkdirAll makes a folder and those above it that are missing, as os.MkdirAll does, but fails if a call is interrupted
// without end.
func MkdirAll(path string, mode fs.FileMode) error {
	path = filepath.Clean(path)
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() {
			return nil
		}
		return &fs.PathError{Op: "mkdir", Path: path, Err: unix.ENOTDIR}
	}
	if parent := filepath.Dir(path); parent != path {
		if err := MkdirAll(parent, mode); err != nil {
			return err
		}
	}
	err := Mkdir(path, mode)
	if err != nil {
		if info, stat := os.Lstat(path); stat == nil && info.IsDir() {
			return nil // another process was faster
		}
	}
	return err
}
