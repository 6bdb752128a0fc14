package folder

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// TestOtherAnalyser: words that were analysed in another way are refused.
func TestOtherAnalyser(t *testing.T) {
	dir := built(t, store.BuildOptions{}, randomPassages(1, 20))
	m, err := readManifest(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Words.Analyser = "0123456789abcdef0123456789abcdef"
	if _, err := manifest.Write(disk.OS{}, dir, m); err != nil {
		t.Fatal(err)
	}
	_, opening := Open(dir)
	_, adding := Add(t.Context(), dir, of(randomPassages(2, 3)), store.BuildOptions{})
	_, living := OpenLive(dir, LiveOptions{})
	for _, err := range []error{opening, adding, living} {
		if err == nil || !strings.Contains(err.Error(), "analysed in another way (0123456789abcdef) than this program does") {
			t.Errorf("%v", err)
		}
	}
}

func TestSecondWriter(t *testing.T) {
	dir := built(t, store.BuildOptions{}, randomPassages(1, 20))
	w, err := openWriter(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Add(t.Context(), dir, of([]corpus.Passage{{ID: "new", Text: "x"}}), store.BuildOptions{})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "process ") {
		t.Fatalf("a second writer: %v", err)
	}
	if _, err := Build(t.Context(), dir, of(nil), store.BuildOptions{}); !errors.Is(err, ErrLocked) {
		t.Fatalf("a second builder: %v", err)
	}
	opened(t, dir) // readers are not in its way
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Add(t.Context(), dir, of([]corpus.Passage{{ID: "new", Text: "x"}}), store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestLeftovers: the next writer removes what an interrupted one left, and
// nothing else.
func TestLeftovers(t *testing.T) {
	dir := built(t, store.BuildOptions{}, randomPassages(1, 20))
	before := tree(t, dir)
	for _, name := range []string{"tmp-seg-000002/passages", "seg-000007/words", "tmp-manifest",
		"seg-000001/a-9.vectors"} {
		path := filepath.Join(dir, name)
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "README"), []byte("a user's note"), 0o644); err != nil {
		t.Fatal(err)
	}
	opened(t, dir) // a reader does not mind them
	w, err := openWriter(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	after := tree(t, dir)
	if after["/README"] == "" || len(after) != len(before)+1 {
		t.Fatalf("%d files before, now %d", len(before), len(after))
	}
}

// TestReplacedCollection: another collection under the same path is not taken
// for a newer generation.
func TestReplacedCollection(t *testing.T) {
	dir := built(t, store.BuildOptions{}, randomPassages(1, 20))
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(t.Context(), dir, of(randomPassages(2, 30)), store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reload(nil); err == nil || !strings.Contains(err.Error(), "was replaced by another collection") {
		t.Fatalf("Reload: %v", err)
	}
	g := c.Acquire() // the one before goes on
	defer g.Release()
	if p, err := g.Passage(rank.Ordinal(0)); err != nil || p.ID == "" {
		t.Fatalf("%+v, %v", p, err)
	}
}

// TestOpeningDoesNotGrow: what opening allocates is the same for ten times the
// passages; the rest is mapped.
func TestOpeningDoesNotGrow(t *testing.T) {
	a := &hashEncoder{name: "a", dimension: 8}
	cost := func(n int) uint64 {
		dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{a}}, randomPassages(1, n))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, err := Open(dir)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		return after.TotalAlloc - before.TotalAlloc
	}
	small, large := cost(1000), cost(10000)
	t.Logf("opening allocates %d bytes for 1,000 passages, %d for 10,000", small, large)
	if large > small+small/2 {
		t.Errorf("opening allocates %d bytes for 1,000 passages, %d for 10,000", small, large)
	}
}
