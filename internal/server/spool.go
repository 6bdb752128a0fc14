package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"example.org/conclave/internal/provision"
)

// spoolName begins the names of the temporary folders for the pages of sites.
const spoolName = "conclave-site-"

// spool is a temporary folder for the pages of a site. Its lock says that the process uses it, as long as that lives.
type spool struct {
	path   string
	unlock func()
}

// makeSpool makes a spool, which the caller removes. Before that it removes those of processes that ended without doing
// so. It fails if the folder or its lock cannot be made.
func makeSpool(ctx context.Context) (*spool, error) {
	removeLostSpools()
	path, err := os.MkdirTemp("", spoolName)
	if err != nil {
		return nil, err
	}
	unlock, err := provision.LockFolder(ctx, path)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &spool{path, unlock}, nil
}

// removeLostSpools removes the spools that no process has locked. Those without a lock are being made. It ignores
// errors, as of folders of another user.
func removeLostSpools() {
	locks, _ := filepath.Glob(filepath.Join(os.TempDir(), spoolName+"*", provision.LockName))
	for _, lock := range locks {
		_ = provision.RemoveUnused(filepath.Dir(lock))
	}
}

// remove removes the folder with its files, and gives the lock back. It fails if removing does.
func (s *spool) remove() error {
	defer s.unlock()
	return os.RemoveAll(s.path)
}
