package folder

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
	"example.org/conclave/store/folder/internal/wal"
)

// TestPrivate: what a collection and its snapshots hold is for their owner
// alone, whatever made it.
func TestPrivate(t *testing.T) {
	a, b := &hashEncoder{name: "a", dimension: 4}, &hashEncoder{name: "b", dimension: 4}
	o := store.BuildOptions{Experts: []store.PassageEncoder{a}, Index: store.Index{Kind: ann.HNSW, EfConstruction: 40}}
	root := filepath.Join(t.TempDir(), "deep")
	dir := filepath.Join(root, "index")
	if _, err := Build(t.Context(), dir, of(randomPassages(1, 30)), o); err != nil {
		t.Fatal(err)
	}
	l := lively(t, disk.OS{}, dir, LiveOptions{Build: o, FlushAfter: time.Hour})
	apply(t, l, put(corpus.Passage{ID: "x", Text: "new", Tags: []string{"red"}}), store.Change{Delete: "p3"})
	if _, err := l.Snapshot(t.Context(), filepath.Join(root, "snapshots", "one"), NewID()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.AddExpert(t.Context(), b, o); err != nil {
		t.Fatal(err)
	}
	apply(t, l, put(corpus.Passage{ID: "y", Text: "newer"}))
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s is %v, want %v", path, info.Mode(), want)
		}
		seen[e.Name()] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{manifest.FileName, lockName, wal.Folder, storeName, wordsName, tagsName, wal.LogName(3), "snapshots"} {
		if !seen[name] {
			t.Errorf("%s was not there to be looked at", name)
		}
	}
}
