package provision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Lock keeps other processes from changing the cache until unlock is called.
// It waits for them, as long as ctx lasts.
func (c Cache) Lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(c.Wheels(), 0o755); err != nil {
		return nil, fmt.Errorf("the cache folder cannot be made: %w: set %s to a folder that can be written", err, EnvCache)
	}
	unlock, err = LockFolder(ctx, c.Root)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EROFS) {
		return nil, fmt.Errorf("the cache folder cannot be written: %w: set %s to one that can", err, EnvCache)
	}
	return unlock, err
}

// LockFolder is Lock for any folder, which must be there: it makes a file LOCK
// in it.
func LockFolder(ctx context.Context, folder string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(folder, "LOCK"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
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

// Hold marks a folder as used by this process until release is called or the
// process ends, however it ends. Several processes may hold a folder.
//
// Between making a folder and holding it, RemoveUnused may take it: hold a lock
// on the folder above over both.
func Hold(folder string) (release func(), err error) {
	file, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("%s is being removed: %w", folder, err)
	}
	return func() { _ = file.Close() }, nil
}

// RemoveUnused removes a folder that no process holds, and no collection in
// which a process is writing (see package collection about its LOCK). removed
// is false for one that is in use.
func RemoveUnused(folder string) (removed bool, err error) {
	for _, path := range []string{folder, filepath.Join(folder, "LOCK")} {
		file, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return false, err
		}
		defer func() { _ = file.Close() }()
		if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			return false, nil
		}
	}
	return true, os.RemoveAll(folder)
}
