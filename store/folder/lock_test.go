package folder

import (
	"testing"

	"example.org/conclave/internal/disk"

	"golang.org/x/sys/unix"
)

// TestUnlock: a lock is given back also where a process that is being started
// has a copy of the open file, as every child has until its program begins.
func TestUnlock(t *testing.T) {
	dir := t.TempDir()
	held, err := lock(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := unix.Dup(int(held.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(inherited) }()
	if err := unlock(held); err != nil {
		t.Fatal(err)
	}
	again, err := lock(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := unlock(again); err != nil {
		t.Fatal(err)
	}
}
