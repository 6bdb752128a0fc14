package demo

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.org/conclave/internal/provision"
	"example.org/conclave/store/folder"

	"golang.org/x/sys/unix"
)

// TestFolderOfAnotherFormat: a collection that an earlier program left in the cache is not this program's.
func TestFolderOfAnotherFormat(t *testing.T) {
	cache := provision.Cache{Root: t.TempDir()}
	current, err := Folder(cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	old, err := folderOfFormats(cache, nil, []int{slices.Max(folder.ManifestFormats()) - 1})
	if err != nil || old == current {
		t.Errorf("of the format before it is %s, of this one %s: %v", old, current, err)
	}
}

// TestOldDemosAreRemoved, but for what a process writes to and what is not the demo's.
func TestOldDemosAreRemoved(t *testing.T) {
	cache := provision.Cache{Root: t.TempDir()}
	const current, used, old = "0000000000000001", "0000000000000002", "0000000000000003"
	const documents = "documents-0000000000000004" // of another version
	for _, name := range []string{current, used, old, documents, "mine"} {
		if err := os.MkdirAll(filepath.Join(demoFolder(cache), name, "seg-000001"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := os.Create(filepath.Join(demoFolder(cache), used, "LOCK"))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	left := func() (names []string) {
		if err := MakeRoom(cache, filepath.Join(demoFolder(cache), current)); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(demoFolder(cache))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	if got, want := left(), []string{current, used, "mine"}; !slices.Equal(got, want) {
		t.Errorf("there is %q, not %q", got, want)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := left(), []string{current, "mine"}; !slices.Equal(got, want) {
		t.Errorf("there is %q, not %q", got, want)
	}
}
