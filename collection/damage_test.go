package collection

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"conclave/corpus"
)

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
