package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"conclave/provision"
)

// TestOldDemosAreRemoved, but for what a process uses and what is not the
// demo's.
func TestOldDemosAreRemoved(t *testing.T) {
	cache := provision.Cache{Root: t.TempDir()}
	const current, used, old = "0000000000000001", "0000000000000002", "0000000000000003"
	for _, name := range []string{current, used, old, "mine"} {
		if err := os.MkdirAll(filepath.Join(demoRoot(cache), name, "seg-000001"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	other, err := provision.Hold(filepath.Join(demoRoot(cache), used))
	if err != nil {
		t.Fatal(err)
	}
	defer other()
	release, err := holdDemo(t.Context(), cache, filepath.Join(demoRoot(cache), current), true)
	if err != nil {
		t.Fatal(err)
	}
	left := func() (names []string) {
		entries, err := os.ReadDir(demoRoot(cache))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() {
				names = append(names, e.Name())
			}
		}
		return names
	}
	if want := []string{current, used, "mine"}; !slices.Equal(left(), want) {
		t.Errorf("there is %q, not %q", left(), want)
	}
	// Another demo, of another version, beside this one.
	next := filepath.Join(demoRoot(cache), "0000000000000004")
	if _, err := holdDemo(t.Context(), cache, next, true); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(left(), current) {
		t.Error("the collection of a running demo was removed")
	}
	release()
	other()
	if _, err := holdDemo(t.Context(), cache, next, true); err != nil {
		t.Fatal(err)
	}
	if want := []string{"0000000000000004", "mine"}; !slices.Equal(left(), want) {
		t.Errorf("there is %q, not %q", left(), want)
	}
}

// TestDemoInACacheThatCannotBeWritten, as in a container: the collection lies
// elsewhere.
func TestDemoInACacheThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cache := provision.Cache{Root: file} // no folder can be made in it
	release, err := holdDemo(t.Context(), cache, filepath.Join(t.TempDir(), "mine"), false)
	if err != nil {
		t.Fatal(err)
	}
	release()
	if _, err := holdDemo(t.Context(), cache, filepath.Join(demoRoot(cache), "0000000000000001"), true); err == nil {
		t.Error("a collection in it was accepted")
	}
}
