package models

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// workFolder makes the hidden folder beside target in which a bundle is
// written, locked as long as the returned file is open, and clears away what
// killed imports of the same target left there.
func workFolder(target string) (string, *os.File, error) {
	parent, pattern := filepath.Dir(target), "."+filepath.Base(target)+".tmp-*"
	if leftovers, err := filepath.Glob(filepath.Join(parent, pattern)); err == nil {
		for _, folder := range leftovers {
			if file, err := lockFolder(folder); err == nil && file != nil {
				_ = os.RemoveAll(folder)
				_ = file.Close()
			}
		}
	}
	for range 10 {
		work, err := os.MkdirTemp(parent, pattern)
		if err != nil {
			return "", nil, err
		}
		file, err := lockFolder(work)
		if err != nil {
			// Another import has cleared it away before it was locked.
			continue
		}
		if _, err := os.Stat(work); err != nil {
			_ = file.Close() // a nil *os.File only answers that it is nil
			continue
		}
		return work, file, os.Chmod(work, 0o755)
	}
	return "", nil, errors.New("cannot keep a folder in " + parent + " from others that import the same bundle")
}

// lockFolder fails for a folder that another import is writing. It gives nil
// where the file system knows no locks.
func lockFolder(folder string) (*os.File, error) {
	file, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, err
	}
	return file, nil
}
