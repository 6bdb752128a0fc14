package provision

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCollectionWithAWriterStays: package collection locks a file LOCK.
func TestCollectionWithAWriterStays(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.MkdirAll(filepath.Join(folder, "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(folder, "LOCK"))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := RemoveUnused(folder); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "inside")); err != nil {
		t.Errorf("removed under its writer: %v", err)
	}
	_ = lock.Close()
	if err := RemoveUnused(folder); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestLockWaitsAndGivesUp(t *testing.T) {
	cache := Cache{Root: t.TempDir()}
	unlock, err := cache.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cache.Lock(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	again, err := cache.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again()
}
