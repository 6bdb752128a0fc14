package provision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"example.org/conclave/internal/disk"

	"golang.org/x/sys/unix"
)

// Lock locks the cache for this process until unlock is called, once. It makes the cache folder if there is none. While
// another process has the lock it waits, as long as ctx lasts, and then returns ctx's cause. It fails if the folder
// cannot be made or written.
func (c Cache) Lock(ctx context.Context) (unlock func(), err error) {
	if err := disk.MkdirAll(c.Wheels(), 0o755); err != nil {
		return nil, fmt.Errorf("the cache folder cannot be made: %w: set %s to a folder that can be written", err, EnvCache)
	}
	unlock, err = LockFolder(ctx, c.Root)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EROFS) {
		return nil, fmt.Errorf("the cache folder cannot be written: %w: set %s to one that can", err, EnvCache)
	}
	return unlock, err
}

// LockName is the name of the file by which a folder is locked.
const LockName = "LOCK"

// LockFolder locks a folder, which must exist, with a file LOCK in it, until unlock is called, once. While another
// process has the lock it waits, as long as ctx lasts, and then returns ctx's cause. It fails if the file cannot be
// made or locked. The file stays.
func LockFolder(ctx context.Context, folder string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(folder, LockName), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := disk.Uninterrupted(func() error { return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			_ = file.Close()
			return nil, fmt.Errorf("locking %s: %w", file.Name(), err)
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// RemoveUnused removes the folder of a collection with everything in it; without one it does nothing. If a process
// writes to the collection, it also does nothing and returns nil. It fails if the LOCK cannot be opened, or removing
// fails, with a part removed.
func RemoveUnused(folder string) error {
	file, err := os.Open(filepath.Join(folder, LockName))
	if err == nil {
		defer func() { _ = file.Close() }()
		if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			return nil
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.RemoveAll(folder)
}
