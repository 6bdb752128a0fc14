package convert

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"example.org/conclave/internal/disk"

	"golang.org/x/sys/unix"
)

// workFolder makes the hidden folder beside target in which a bundle is written, and returns its path and the lock
// on it: the folder is locked until the caller closes that file. What a killed import of the same target left there
// is removed. It fails, without waiting, if another import of the target is under way. Where the file system has no
// locks, other imports are not seen.
func workFolder(target string) (string, *os.File, error) {
	work := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+".tmp")
	if err := disk.MkdirAll(work, 0o755); err != nil {
		return "", nil, err
	}
	lock, err := os.Open(work)
	if err != nil {
		return "", nil, err
	}
	// A file system without locks has other errors, and no other import is seen.
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		_ = lock.Close()
		return "", nil, fmt.Errorf("%s is being written by another import", target)
	}
	if locked, err := lock.Stat(); err != nil || !isAt(work, locked) {
		_ = lock.Close()
		return "", nil, errors.Join(err, fmt.Errorf("%s was written by another import meanwhile", target))
	}
	left, err := os.ReadDir(work)
	for _, entry := range left {
		err = errors.Join(err, os.RemoveAll(filepath.Join(work, entry.Name())))
	}
	err = errors.Join(err, os.RemoveAll(work+".old"))
	if err != nil {
		_ = lock.Close()
		return "", nil, err
	}
	return work, lock, nil
}

// isAt reports whether the file at path is the very file that file describes (os.SameFile). It returns false if there
// is none or it cannot be examined.
func isAt(path string, file os.FileInfo) bool {
	info, err := os.Stat(path)
	return err == nil && os.SameFile(info, file)
}
