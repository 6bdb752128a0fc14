package folder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
)

// version returns the changes that put a version of a document of so many passages in the
// place of one of up to 9.
func version(number, passages int) (changes []store.Change) {
	for i := range passages {
		text := fmt.Sprintf("version %d passage %d", number, i+1)
		changes = append(changes, put(corpus.Passage{ID: fmt.Sprintf("doc#%d", i+1), Text: text}))
	}
	for i := passages; i < 9; i++ {
		changes = append(changes, store.Change{Delete: fmt.Sprintf("doc#%d", i+1)})
	}
	return changes
}

// documentIn returns which version of the document a collection has, and how many passages
// of it; it fails where it has passages of two.
func documentIn(t *testing.T, name string, got map[string]corpus.Passage) (number, passages int) {
	t.Helper()
	number = -1
	for id, p := range got {
		if !strings.HasPrefix(id, "doc#") {
			continue
		}
		var v, n int
		if _, err := fmt.Sscanf(p.Text, "version %d passage %d", &v, &n); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if number >= 0 && v != number {
			t.Errorf("%s: passages of the versions %d and %d: %v", name, v, number, got) // not from every goroutine Fatal
		}
		number = v
		passages++
	}
	return number, passages
}

// TestTogether makes sure that changes that belong together are made together, seen
// together, and are all refused where one is.
func TestTogether(t *testing.T) {
	t.Parallel()
	a := &hashEncoder{name: "a", dimension: 8}
	o := LiveOptions{
		Build:      store.BuildOptions{Experts: []store.PassageEncoder{a}},
		FlushAfter: time.Millisecond, FlushPassages: 2, Merge: MergePolicy{Off: true},
	}
	dir := built(t, o.Build, randomPassages(1, 5))
	var l *Live
	o.Published = func(uint64) {
		if l == nil {
			return
		}
		g := l.Collection().Acquire()
		defer g.Release()
		documentIn(t, "a generation", contents(t, g))
	}
	l = lively(t, disk.OS{}, dir, o)
	sizes := []int{3, 7, 1, 5, 9, 2}
	for v, n := range sizes {
		results, err := l.ApplyTogether(t.Context(), append(version(v, n), put(numbered("other", v))))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
	// One condition that does not hold keeps all from being made; what the same group
	// stages before and after it counts all the same.
	refused := append(version(77, 4), store.Change{Put: &corpus.Passage{ID: "doc#1", Text: "x"}, IfAbsent: true})
	results, err := l.ApplyTogether(t.Context(), refused)
	var wrong *store.VersionError
	if err != nil || !errors.As(results[len(results)-1].Err, &wrong) {
		t.Fatalf("%v, %v", results, err)
	}
	results, err = l.ApplyTogether(t.Context(), []store.Change{put(numbered("other", 99)), {Put: &corpus.Passage{ID: "doc#1"}}})
	if err != nil || results[1].Err == nil {
		t.Fatalf("an empty passage: %v, %v", results, err)
	}
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	g := l.Collection().Acquire()
	defer g.Release()
	got := contents(t, g)
	if v, n := documentIn(t, "the end", got); v != 5 || n != 2 || got["other"].Text != numbered("other", 5).Text {
		t.Errorf("version %d of %d passages, and %q", v, n, got["other"].Text)
	}
}

// TestTogetherPowerCuts cuts the power before every operation on the disk while a document
// is replaced: there is the old version or the new one.
func TestTogetherPowerCuts(t *testing.T) {
	t.Parallel()
	base := randomPassages(1, 6)
	o := LiveOptions{
		Build:      crashOptions().Build,
		FlushAfter: time.Hour, FlushPassages: 1, Merge: MergePolicy{Off: true},
	}
	sizes := []int{4, 6, 2}
	for cut := 1; ; cut++ {
		d := newForgetfulDisk(t, 1<<30)
		root := memoryDir(t)
		dir := filepath.Join(root, "index")
		if _, err := build(t.Context(), d, dir, of(base), o.Build); err != nil {
			t.Fatal(err)
		}
		d.mu.Lock()
		d.cutAt = d.N + cut
		d.mu.Unlock()
		acknowledged, finished := replaceUntilCut(t, d, dir, o, sizes)
		disks := map[string]string{"forgotten": d.Forgotten(root), "hasty": d.hasty(root), "kept": d.kept(root)}
		for name, left := range disks {
			name = fmt.Sprintf("%s, cut before operation %d, %d versions acknowledged", name, cut, acknowledged)
			c, err := Open(filepath.Join(left, "index"))
			if err != nil {
				t.Fatal(name, err)
			}
			g := c.Acquire()
			documentIn(t, name+", before the log is read", contents(t, g))
			g.Release()
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			l, err := OpenLive(filepath.Join(left, "index"), o)
			if err != nil {
				t.Fatal(name, err)
			}
			if err := l.Flush(t.Context()); err != nil {
				t.Fatal(name, err)
			}
			g = l.Collection().Acquire()
			v, n := documentIn(t, name, contents(t, g))
			if v != acknowledged-1 && v != acknowledged || v >= 0 && n != sizes[v] {
				t.Fatalf("%s: version %d of %d passages", name, v, n)
			}
			g.Release()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		d.letGo()
		if finished {
			return
		}
	}
}

// replaceUntilCut puts one version after the other, and says how many were acknowledged.
func replaceUntilCut(
	t *testing.T,
	d *forgetfulDisk,
	dir string,
	o LiveOptions,
	sizes []int,
) (acknowledged int, finished bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Failed = func(error) { cancel() }
	l, err := openLive(d, dir, o)
	if err != nil {
		return 0, false
	}
	defer func() { _ = l.Close() }()
	for v, n := range sizes {
		if _, err := l.ApplyTogether(ctx, version(v, n)); err != nil {
			return acknowledged, false
		}
		acknowledged++
		if err := l.Flush(ctx); err != nil {
			return acknowledged, false
		}
	}
	return acknowledged, l.Close() == nil
}

// countingEncoder notes the texts that it encodes.
type countingEncoder struct {
	hashEncoder
	encoded []string
}

// EncodePassages implements PassageEncoder.
func (e *countingEncoder) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	for _, p := range passages {
		e.encoded = append(e.encoded, p.Text)
	}
	return e.hashEncoder.EncodePassages(ctx, passages)
}

// TestReuse replaces a document by one in which a passage was added at the front and one
// removed: what was there is not encoded again, and has the vectors that encoding gives.
func TestReuse(t *testing.T) {
	t.Parallel()
	for _, parted := range []bool{false, true} {
		e := &countingEncoder{hashEncoder: hashEncoder{name: "a", dimension: 8, parted: parted}}
		o := LiveOptions{
			Build:      store.BuildOptions{Experts: []store.PassageEncoder{e}},
			FlushAfter: time.Hour, Merge: MergePolicy{Off: true},
		}
		dir := built(t, o.Build, randomPassages(1, 5))
		l := lively(t, disk.OS{}, dir, o)
		write := func(texts ...string) {
			e.encoded = nil
			var changes []store.Change
			for i := range max(len(texts), 4) {
				id := fmt.Sprintf("doc#%d", i+1)
				if i >= len(texts) {
					changes = append(changes, store.Change{Delete: id})
					continue
				}
				metadata := map[string]any{"n": fmt.Sprint(texts)}
				changes = append(changes, put(corpus.Passage{ID: id, Title: "doc", Text: texts[i], Metadata: metadata}))
			}
			if _, err := l.ApplyTogether(t.Context(), changes); err != nil {
				t.Fatal(err)
			}
			if err := l.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		write("one two", "three four", "five six")
		write("new text", "one two", "five six")
		if !slices.Equal(e.encoded, []string{"new text"}) {
			t.Errorf("parts %v: encoded %q", parted, e.encoded)
		}
		write("One two", "five six") // another text to an encoder
		if !slices.Equal(e.encoded, []string{"One two"}) {
			t.Errorf("parts %v: encoded %q", parted, e.encoded)
		}
		g := l.Collection().Acquire()
		vectors, _ := g.Expert("a")
		got := contents(t, g)
		for _, id := range slices.Sorted(maps.Keys(got)) {
			ordinal, _, err := g.Ordinal(id)
			if err != nil {
				t.Fatal(err)
			}
			vector, err := vectors.Vector(ordinal)
			if err != nil {
				t.Fatal(err)
			}
			if want := e.vector(got[id].Title + " " + got[id].Text); !parted && !slices.Equal(vector, want) {
				t.Errorf("%s has another vector than its text", id)
			}
		}
		g.Release()
	}
}
