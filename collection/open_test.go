package collection

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"conclave/ann"
	"conclave/corpus"
	"conclave/rank"
)

// TestExpertsComeAndGo adds an expert to two segments and removes it, while a
// reader has an older generation pinned.
func TestExpertsComeAndGo(t *testing.T) {
	a, b := &hashEncoder{name: "a", dimension: 8}, &hashEncoder{name: "b", dimension: 12}
	passages := randomPassages(1, 300)
	dir := built(t, BuildOptions{Experts: []PassageEncoder{a}}, passages[:200], passages[200:])
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	before := tree(t, dir)

	report, err := AddExpert(t.Context(), dir, b, BuildOptions{Index: Index{Kind: "flat"}})
	if err != nil || report.Passages != 300 || report.Generation != 3 {
		t.Fatalf("%+v, %v", report, err)
	}
	for name, content := range tree(t, dir) {
		if was, ok := before[name]; ok && was != content && name != "/"+manifestName {
			t.Errorf("adding an expert rewrote %s", name)
		}
	}
	old := c.Acquire()
	if _, ok := old.Expert("b"); ok {
		t.Fatal("a generation changed while it was pinned")
	}
	if changed, err := c.Reload(); err != nil || !changed {
		t.Fatalf("Reload: %v, %v", changed, err)
	}
	if changed, err := c.Reload(); err != nil || changed {
		t.Fatalf("Reload again: %v, %v", changed, err)
	}
	with := c.Acquire()
	v, ok := with.Expert("b")
	if !ok {
		t.Fatal("the new expert is not there")
	}
	query := b.vector("word1 word2")
	hits, err := v.Search(t.Context(), query, 5, false)
	if err != nil || len(hits) != 5 {
		t.Fatalf("%v, %v", hits, err)
	}
	if p, err := with.Passage(hits[0].Ordinal); err != nil || dot(query, b.vector(p.Title+" "+p.Text))-float64(hits[0].Score) > 1e-5 {
		t.Fatalf("the best hit is %+v with %v, %v", p, hits[0].Score, err)
	}

	if err := RemoveExpert(t.Context(), dir, "b"); err != nil {
		t.Fatal(err)
	}
	for name := range tree(t, dir) {
		if strings.Contains(name, "/b-") {
			t.Errorf("%s is still there", name)
		}
	}
	// The pinned generation goes on with the files that were removed.
	if again, err := v.Search(t.Context(), query, 5, false); err != nil || !slices.Equal(again, hits) {
		t.Fatalf("after the removal: %v, %v", again, err)
	}
	with.Release()
	old.Release()
	if _, err := c.Reload(); err != nil {
		t.Fatal(err)
	}
	if n := len(c.files.files); n != 8 {
		t.Errorf("%d files are open, want 8: two segments of passages, words, tags and vectors", n)
	}
	// Once more under the same name, with another encoder: new file names.
	if _, err := AddExpert(t.Context(), dir, &hashEncoder{name: "b", dimension: 6}, BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reload(); err != nil {
		t.Fatal(err)
	}
	g := c.Acquire()
	defer g.Release()
	if v, _ := g.Expert("b"); v.Dimension() != 6 {
		t.Errorf("dimension %d", v.Dimension())
	}
}

func TestCheckEncoders(t *testing.T) {
	a := &hashEncoder{name: "a", dimension: 8}
	g := opened(t, built(t, BuildOptions{Experts: []PassageEncoder{a}}, randomPassages(1, 50)))
	if err := g.CheckEncoders(a); err != nil {
		t.Error(err)
	}
	err := g.CheckEncoders(&hashEncoder{name: "a", dimension: 9, version: 4}, &hashEncoder{name: "c", dimension: 1})
	for _, want := range []string{"hash-a-8-0 (8 numbers)", "hash-a-9-4 (9 numbers)", "--remove-expert a and --add-expert a", `no vectors of expert "c" (it has: a)`, "--add-expert c"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

// TestOtherAnalyser: words that were analysed in another way are refused.
func TestOtherAnalyser(t *testing.T) {
	dir := built(t, BuildOptions{}, randomPassages(1, 20))
	m, err := readManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Words.Analyser = "0123456789abcdef0123456789abcdef"
	if err := writeManifest(osDisk{}, dir, m); err != nil {
		t.Fatal(err)
	}
	_, opening := Open(dir)
	_, adding := Add(t.Context(), dir, of(randomPassages(2, 3)), BuildOptions{})
	_, living := OpenLive(dir, LiveOptions{})
	for _, err := range []error{opening, adding, living} {
		if err == nil || !strings.Contains(err.Error(), "analysed in another way (0123456789abcdef) than this program does") {
			t.Errorf("%v", err)
		}
	}
}

// TestRecallFloor: an index that was measured below its kind's floor is
// refused, coder is not but warns.
func TestRecallFloor(t *testing.T) {
	a, b := &hashEncoder{name: "a", dimension: 8}, &hashEncoder{name: "b", dimension: 8}
	dir := built(t, BuildOptions{Experts: []PassageEncoder{a}}, randomPassages(1, 300), []corpus.Passage{{ID: "x", Text: "x"}})
	if _, err := AddExpert(t.Context(), dir, b, BuildOptions{Index: Index{Kind: "coder"}}); err != nil {
		t.Fatal(err)
	}
	g := opened(t, dir)
	if err := g.CheckRecall(nil); err != nil {
		t.Fatal(err)
	}
	for _, x := range g.Experts() {
		if got := len(x.Warnings()); got != map[string]int{"a": 0, "b": 1}[x.Name] {
			t.Errorf("expert %s has %d warnings", x.Name, got)
		}
	}
	// As it would be had it measured badly.
	m := *g.manifest
	m.Segments = slices.Clone(m.Segments)
	m.Segments[0].Experts = slices.Clone(m.Segments[0].Experts)
	m.Segments[0].Experts[0].Recall.Stored = ann.Measured{Queries: 200, At10: 0.9, At100: 0.8}
	bad := Generation{dir: dir, manifest: &m, segments: g.segments, total: g.total}
	err := bad.CheckRecall(nil)
	if err == nil || !strings.Contains(err.Error(), `expert "a"`) || !strings.Contains(err.Error(), "finds only 0.900") || !strings.Contains(err.Error(), "--index flat") || strings.Contains(err.Error(), `expert "b"`) {
		t.Errorf("%v", err)
	}
}

func TestSecondWriter(t *testing.T) {
	dir := built(t, BuildOptions{}, randomPassages(1, 20))
	w, err := OpenWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Add(t.Context(), dir, of([]corpus.Passage{{ID: "new", Text: "x"}}), BuildOptions{})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "process ") {
		t.Fatalf("a second writer: %v", err)
	}
	if _, err := Build(t.Context(), dir, of(nil), BuildOptions{}); !errors.Is(err, ErrLocked) {
		t.Fatalf("a second builder: %v", err)
	}
	opened(t, dir) // readers are not in its way
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Add(t.Context(), dir, of([]corpus.Passage{{ID: "new", Text: "x"}}), BuildOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestLeftovers: the next writer removes what an interrupted one left, and
// nothing else.
func TestLeftovers(t *testing.T) {
	dir := built(t, BuildOptions{}, randomPassages(1, 20))
	before := tree(t, dir)
	for _, name := range []string{"tmp-seg-000002/passages", "seg-000007/words", "tmp-manifest", "seg-000001/a-9.vectors"} {
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
	w, err := OpenWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	after := tree(t, dir)
	if after["/README"] == "" || len(after) != len(before)+1 {
		t.Fatalf("%d files before, now %d", len(before), len(after))
	}
}

// TestDamage flips a byte here and there, cuts, swaps and removes files: Open
// or Verify says so, naming the file, and no search gives a wrong passage.
func TestDamage(t *testing.T) {
	a := &hashEncoder{name: "a", dimension: 8}
	passages := randomPassages(1, 300)
	dir := built(t, BuildOptions{Experts: []PassageEncoder{a}}, passages[:200], passages[200:])
	if report, err := Verify(t.Context(), dir, nil); err != nil || report.Passages != 300 || report.Segments != 2 || report.Experts != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	whole := tree(t, dir)
	for name, content := range whole {
		path := filepath.Join(dir, name)
		restore := func() {
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 24 {
			at := i * (len(content) - 1) / 23
			if name == "/"+manifestName {
				at = i * 37 % len(content)
			}
			damaged := []byte(content)
			damaged[at] ^= 1 << (i % 8)
			if err := os.WriteFile(path, damaged, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := Verify(t.Context(), dir, nil); err == nil || !strings.Contains(err.Error(), filepath.Base(name)) {
				t.Fatalf("%s with byte %d of %d flipped: %v", name, at, len(content), err)
			}
			checkAnswers(t, dir, passages)
		}
		for _, n := range []int{0, 1, len(content) / 2, len(content) - 1} {
			if err := os.WriteFile(path, []byte(content[:n]), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), filepath.Base(name)) {
				t.Fatalf("%s cut to %d of %d bytes: %v", name, n, len(content), err)
			}
		}
		_ = os.Remove(path)
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), filepath.Base(name)) {
			t.Fatalf("without %s: %v", name, err)
		}
		restore()
	}
	// A file of the other segment in place of the own one.
	for _, name := range []string{"passages", "words"} {
		one, two := filepath.Join(dir, "seg-000001", name), filepath.Join(dir, "seg-000002", name)
		if err := os.WriteFile(one, []byte(whole["/seg-000002/"+name]), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil {
			t.Errorf("%s in place of %s was opened", two, one)
		}
		if err := os.WriteFile(one, []byte(whole["/seg-000001/"+name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Verify(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
}

// checkAnswers asks a collection that may be damaged: errors are fine, a
// passage under a wrong id or with a wrong text, or a selection of others, is
// not.
func checkAnswers(t *testing.T, dir string, passages []corpus.Passage) {
	t.Helper()
	c, err := Open(dir)
	if err != nil {
		return
	}
	g := c.Acquire()
	defer func() {
		g.Release()
		_ = c.Close()
	}()
	for _, want := range passages[:50] {
		o, ok, err := g.Ordinal(want.ID)
		if err != nil {
			continue
		}
		if !ok {
			t.Fatalf("passage %s is no longer there", want.ID)
		}
		if got, err := g.Passage(o); err == nil && (got.ID != want.ID || got.Text != want.Text) {
			t.Fatalf("passage %s became %+v", want.ID, got)
		}
	}
	_, _ = g.Words().Search(t.Context(), "word1 word2", 10)
	for _, f := range someFilters() {
		s, err := g.Select(t.Context(), f.all, f.any)
		if err != nil {
			continue
		}
		count := 0
		for _, p := range passages {
			if f.lets(p) {
				count++
			}
		}
		if s.Len() != count {
			t.Fatalf("%+v selects %d passages, %d have the tags", f, s.Len(), count)
		}
	}
}

// TestReadersBesideAWriter reads without pause while another goroutine adds
// segments and experts, as another process would.
func TestReadersBesideAWriter(t *testing.T) {
	a := &hashEncoder{name: "a", dimension: 8}
	o := BuildOptions{Experts: []PassageEncoder{a}}
	parts := split(1, randomPassages(1, 400), 6)
	dir := built(t, o, parts[0])
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		wg.Go(func() {
			c, err := Open(dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.Close() }()
			for {
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
				}
				if _, err := c.Reload(); err != nil {
					t.Error(err)
					return
				}
				g := c.Acquire()
				hits, err := g.Words().Search(t.Context(), "word1 word2 word3", 20)
				for _, h := range hits {
					if _, err := g.Passage(h.Ordinal); err != nil {
						t.Error(err)
					}
				}
				v, _ := g.Expert("a")
				_, err2 := v.Search(t.Context(), a.vector("word1"), 20, false)
				if err != nil || err2 != nil {
					t.Error(err, err2)
				}
				g.Release()
			}
		})
	}
	for _, part := range parts[1:] {
		if _, err := Add(t.Context(), dir, of(part), o); err != nil {
			t.Fatal(err)
		}
		b := &hashEncoder{name: "b", dimension: 4}
		if _, err := AddExpert(t.Context(), dir, b, BuildOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := RemoveExpert(t.Context(), dir, "b"); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	wg.Wait()
}

// TestReplacedCollection: another collection under the same path is not taken
// for a newer generation.
func TestReplacedCollection(t *testing.T) {
	dir := built(t, BuildOptions{}, randomPassages(1, 20))
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(t.Context(), dir, of(randomPassages(2, 30)), BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reload(); err == nil || !strings.Contains(err.Error(), "was replaced by another collection") {
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
		dir := built(t, BuildOptions{Experts: []PassageEncoder{a}}, randomPassages(1, n))
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

// FuzzManifest decodes any bytes, with a checksum that fits: an error or a
// manifest that can be followed.
func FuzzManifest(f *testing.F) {
	m := &manifest{ID: "x", Generation: 2, NextSegment: 2, Experts: []expertManifest{{Name: "a", Fingerprint: "f", Dimension: 3, Index: Index{Kind: "flat"}}},
		Segments: []segmentManifest{{Name: "seg-000001", Passages: 2, Store: fileManifest{"passages", 1, ""}, Words: fileManifest{"words", 1, ""},
			Experts: []segmentExpert{{Name: "a", Vectors: fileManifest{"a-1.vectors", 1, ""}}}}}}
	data, err := m.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	_, body, _ := strings.Cut(string(data), "\n")
	f.Add([]byte(body))
	f.Fuzz(func(t *testing.T, data []byte) {
		signed := append([]byte("conclave manifest 1 xxh3 "+sumOf(data)+"\n"), data...)
		for _, data := range [][]byte{data, signed} {
			m, err := decodeManifest(data)
			if err != nil {
				continue
			}
			for i := range m.Segments {
				for _, file := range m.Segments[i].files() {
					if path := filepath.Join(m.Segments[i].Name, file.Name); !filepath.IsLocal(path) || strings.Count(path, "/") != 1 {
						t.Fatalf("a file at %q", path)
					}
				}
				for _, x := range m.Experts {
					_ = m.Segments[i].expert(x.Name).Name
				}
			}
			_ = m.next()
		}
	})
}
