package folder

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// TestSnapshot copies a collection that is being changed; the copy has what was
// acknowledged, shares its files, and lives on by itself.
func TestSnapshot(t *testing.T) {
	a := &hashEncoder{name: "a", dimension: 4}
	o := store.BuildOptions{Experts: []store.PassageEncoder{a}}
	dir := built(t, o, randomPassages(1, 30))
	l := lively(t, disk.OS{}, dir, LiveOptions{Build: o, FlushAfter: time.Hour})
	apply(t, l, put(corpus.Passage{ID: "x", Text: "new"}), store.Change{Delete: "p3"})
	aside := filepath.Join(filepath.Dir(dir), "aside")
	report, err := Snapshot(t.Context(), dir, aside)
	if err != nil || report.Pending != 2 || report.Passages != 30 {
		t.Fatalf("beside the server: %+v, %v", report, err)
	}
	out := filepath.Join(filepath.Dir(dir), "deep", "copy")
	report, err = l.Snapshot(t.Context(), out, NewID())
	if err != nil || report.Passages != 30 || report.Pending != 0 || report.Files == 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	want := contents(t, opened(t, out))
	if _, ok := want["x"]; !ok || len(want) != 30 {
		t.Fatalf("%d passages in the copy", len(want))
	}
	if _, err := l.Snapshot(t.Context(), out, NewID()); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Fatalf("over another: %v", err)
	}
	// Each goes its own way.
	apply(t, l, put(corpus.Passage{ID: "after", Text: "x"}))
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	copied := lively(t, disk.OS{}, out, LiveOptions{Build: o, FlushAfter: time.Hour})
	apply(t, copied, store.Change{Delete: "x"})
	if err := copied.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g := opened(t, out); g.Len() != 29 {
		t.Fatalf("%d passages", g.Len())
	}
	for _, path := range []string{dir, out, aside} {
		if _, err := Verify(t.Context(), path, nil); err != nil {
			t.Fatal(err)
		}
	}
	if g := opened(t, dir); g.Len() != 31 {
		t.Fatalf("%d passages", g.Len())
	}
}

// TestSnapshotLeftovers: what an interrupted snapshot left is replaced, and
// nothing else is.
func TestSnapshotLeftovers(t *testing.T) {
	dir := built(t, store.BuildOptions{}, randomPassages(1, 30))
	out := filepath.Join(filepath.Dir(dir), "copy")
	making := out + ".tmp"
	lay := func(names ...string) {
		t.Helper()
		for _, name := range names {
			path := filepath.Join(making, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
				os.WriteFile(path, []byte("half"), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, names := range [][]string{{snapshotMark, "seg-000001/words", "seg-000009/a-1.vectors", "tmp-manifest"},
		{snapshotMark, lockName, manifest.FileName}, {lockName}} {
		lay(names...)
		if _, err := Snapshot(t.Context(), dir, out); err != nil {
			t.Fatalf("after %q was left: %v", names, err)
		}
		if _, err := Verify(t.Context(), out, nil); err != nil {
			t.Fatal(err)
		}
		if exists(making) || exists(filepath.Join(out, snapshotMark)) || exists(filepath.Join(out, "seg-000009")) {
			t.Fatalf("after %q was left, something still is", names)
		}
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
	}
	// without the mark anything is somebody's
	for _, name := range []string{"thesis.doc", manifest.FileName, "seg-000001/words"} {
		lay(name)
		before := tree(t, making)
		if _, err := Snapshot(t.Context(), dir, out); err == nil ||
			!strings.Contains(err.Error(), "it has "+strings.Split(name, "/")[0]) {
			t.Fatalf("with %s in the way: %v", name, err)
		}
		if after := tree(t, making); !maps.Equal(before, after) || exists(out) {
			t.Fatalf("with %s in the way, something changed", name)
		}
		if err := os.RemoveAll(making); err != nil {
			t.Fatal(err)
		}
	}
	lay(snapshotMark)
	other, err := lock(disk.OS{}, making)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Snapshot(t.Context(), dir, out); err == nil || !strings.Contains(err.Error(), "is being made") ||
		!exists(filepath.Join(making, snapshotMark)) {
		t.Fatalf("beside another that is being made: %v", err)
	}
	_ = unlock(other)
	if _, err := Snapshot(t.Context(), dir, out); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotNames refuses the names that snapshots have while they are made,
// and folders that a collection keeps for itself: its next writer would remove
// what is called like a segment, or tmp.
func TestSnapshotNames(t *testing.T) {
	dir := built(t, store.BuildOptions{}, randomPassages(1, 10))
	folder := filepath.Dir(dir)
	if err := os.Symlink(dir, filepath.Join(folder, "alias")); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	for out, says := range map[string]string{
		filepath.Join(folder, "one.tmp"):               "marks one that is being made",
		filepath.Join(folder, "ONE.TMP") + "/":         "marks one that is being made",
		filepath.Join(dir, "seg-000009"):               "would lie in the collection",
		filepath.Join(dir, "snapshots", "deep", "one"): "would lie in the collection",
		filepath.Join(folder, "alias", "tmp-mine"):     "would lie in the collection",
	} {
		if _, err := Snapshot(t.Context(), dir, out); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", out, err)
		}
		if strings.Contains(says, "lie in") {
			if _, err := Build(t.Context(), out, of(randomPassages(2, 3)), store.BuildOptions{}); err == nil ||
				!strings.Contains(err.Error(), says) {
				t.Errorf("a build in %s: %v", out, err)
			}
		}
	}
	if after := tree(t, dir); !maps.Equal(before, after) {
		t.Error("something changed")
	}
}

// TestSnapshotPowerCuts cuts a snapshot before every operation on the disk. The
// source stays whole; the copy is there whole, or not at all; and what is left
// of a half-made one is in nobody's way.
func TestSnapshotPowerCuts(t *testing.T) {
	t.Parallel()
	a := &hashEncoder{name: "a", dimension: 4}
	o := store.BuildOptions{Experts: []store.PassageEncoder{a}, Index: store.Index{Kind: "flat"}}
	parts := split(1, randomPassages(1, 30), 3)
	whole := func(name, dir string) {
		t.Helper()
		if report, err := Verify(t.Context(), dir, nil); err != nil || report.Passages != 29 {
			t.Fatalf("%s: %d passages, %v", name, report.Passages, err)
		}
	}
	looked := map[string]bool{}
	for cut := 1; ; cut++ {
		d := newForgetfulDisk(t, 1<<30)
		disk := memoryDir(t)
		dir, out := filepath.Join(disk, "index"), filepath.Join(disk, "copy")
		if _, err := build(t.Context(), d, dir, of(parts[0]), o); err != nil {
			t.Fatal(err)
		}
		w, err := openWriter(d, dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts[1:] {
			if _, err := w.add(t.Context(), of(part), o); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.delete(t.Context(), []string{parts[1][0].ID}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, calibrationName), []byte("fitted: true\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(d.SyncFile(filepath.Join(dir, calibrationName)), d.SyncDir(dir)); err != nil {
			t.Fatal(err)
		}
		d.cutAt = d.N + cut
		_, snapping := w.snapshotTo(t.Context(), out, NewID())
		if snapping != nil && !errors.Is(snapping, errCut) {
			t.Fatalf("cut before operation %d: %v", cut, snapping)
		}
		finished := snapping == nil && d.N < d.cutAt
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for name, left := range map[string]string{"forgotten": d.Forgotten(disk), "emptied": d.emptied(disk), "hasty": d.hasty(disk), "kept": d.kept(disk)} {
			key := fmt.Sprint(snapping == nil, image(t, left))
			if looked[key] {
				continue
			}
			looked[key] = true
			name = fmt.Sprintf("%s, cut before operation %d (%q)", name, cut, d.log)
			dir, out := filepath.Join(left, "index"), filepath.Join(left, "copy")
			whole(name, dir)
			if snapping == nil || exists(out) {
				whole(name+", the copy", out)
				if !strings.Contains(tree(t, out)["/"+calibrationName], "fitted") {
					t.Fatalf("%s: the copy has no calibration", name)
				}
				if _, err := Add(t.Context(), out, of([]corpus.Passage{{ID: "again", Text: "x"}}), o); err != nil {
					t.Fatalf("%s: adding to the copy: %v", name, err)
				}
				if exists(filepath.Join(out, snapshotMark)) {
					t.Fatalf("%s: the copy's first writer left the mark", name)
				}
				continue
			}
			if _, err := Snapshot(t.Context(), dir, out); err != nil {
				t.Fatalf("%s: once more: %v", name, err)
			}
			whole(name+", made once more", out)
			whole(name+", afterwards", dir)
		}
		d.letGo()
		if finished {
			t.Logf("%d operations, each cut once: %d different disks", cut-1, len(looked))
			if cut < 20 {
				t.Fatalf("only %d operations went through the disk", cut-1)
			}
			return
		}
	}
}
