package folder

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
	"example.org/conclave/store/folder/internal/segmentfile"
)

// republish puts another manifest, with a right checksum, in the place of a
// collection's.
func republish(t *testing.T, dir string, edit func(*manifest.Manifest)) {
	t.Helper()
	m, err := readManifest(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	edit(m)
	if _, err := manifest.Write(disk.OS{}, dir, m); err != nil {
		t.Fatal(err)
	}
}

// TestVerifyFindsDoubles: an id that is live in two segments. Every checksum is
// right: a tombstone was lost on the way to the manifest.
func TestVerifyFindsDoubles(t *testing.T) {
	first := []corpus.Passage{{ID: "a", Text: "one"}, {ID: "b", Text: "two"}}
	dir := built(t, store.BuildOptions{}, first, []corpus.Passage{{ID: "c", Text: "three"}})
	if _, err := Add(t.Context(), dir, of([]corpus.Passage{{ID: "b", Text: "another two"}}),
		store.BuildOptions{Replace: true}); err != nil {
		t.Fatal(err)
	}
	if report, err := Verify(t.Context(), dir, nil); err != nil || report.Passages != 3 {
		t.Fatalf("%+v, %v", report, err)
	}
	republish(t, dir, func(m *manifest.Manifest) {
		if s := &m.Segments[0]; s.Tombstones == nil || s.Deleted != 1 {
			t.Fatalf("%+v has no tombstone", s)
		}
		m.Segments[0].Tombstones, m.Segments[0].Deleted = nil, 0
	})
	_, err := Verify(t.Context(), dir, nil)
	if err == nil || !strings.Contains(err.Error(), `passage "b" is in seg-000001 and in seg-000003`) {
		t.Fatalf("with an id in two segments: %v", err)
	}
}

// TestVerifyFindsOthersTags: a file of tags that is whole, and of as many
// passages, but of others.
func TestVerifyFindsOthersTags(t *testing.T) {
	tagged := func(tags ...string) (out []corpus.Passage) {
		for i, tag := range tags {
			out = append(out, corpus.Passage{ID: string(rune('a' + i)), Text: "text", Tags: []string{tag}})
		}
		return out
	}
	dir := built(t, store.BuildOptions{}, tagged("red", "green", "blue"))
	others := built(t, store.BuildOptions{}, tagged("red", "blue", "green"))
	path := filepath.Join("seg-000001", tagsName)
	content, err := os.ReadFile(filepath.Join(others, path))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, path), content, 0o644); err != nil {
		t.Fatal(err)
	}
	unsealed := bytes.NewReader(content[:len(content)-segmentfile.SealBytes])
	described, err := segmentfile.Describe(t.Context(), unsealed, tagsName, nil)
	if err != nil {
		t.Fatal(err)
	}
	republish(t, dir, func(m *manifest.Manifest) { m.Segments[0].Tags = described })
	if s, err := opened(t, dir).Select([]string{"green"}, nil); err != nil || s.Len() != 1 {
		t.Fatalf("the file is not believed: %v", err)
	}
	if _, err := Verify(t.Context(), dir, nil); err == nil ||
		!strings.Contains(err.Error(), "differs from the tags of the passages") {
		t.Fatalf("with the tags of other passages: %v", err)
	}
	if _, err := Verify(t.Context(), others, nil); err != nil {
		t.Fatal(errors.Join(errors.New("the other collection"), err))
	}
}

// TestVerifyBesideWriter removes, while it is verified, all that the generation
// it began with alone has, and makes searches see what was in the log.
func TestVerifyBesideWriter(t *testing.T) {
	a, b := &hashEncoder{name: "a", dimension: 4}, &hashEncoder{name: "b", dimension: 4}
	o := store.BuildOptions{Experts: []store.PassageEncoder{a, b}}
	parts := split(1, randomPassages(1, 60), 2)
	dir := built(t, o, parts...)
	if _, err := Delete(t.Context(), dir, []string{parts[0][0].ID}); err != nil {
		t.Fatal(err)
	}
	l := lively(t, disk.OS{}, dir, LiveOptions{Build: o, FlushAfter: time.Hour})
	apply(t, l, put(corpus.Passage{ID: "logged", Text: "new"}))
	before := tree(t, dir)
	begun := false
	report, err := Verify(t.Context(), dir, func(store.Progress) {
		if begun {
			return
		}
		begun = true
		apply(t, l, store.Change{Delete: parts[0][1].ID}, store.Change{Delete: parts[1][0].ID})
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.RemoveExpert(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil || report.Generation != 3 || report.Passages != 59 || report.Experts != 2 || report.Pending != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	removed := 0
	after := tree(t, dir)
	for name := range before {
		if _, ok := after[name]; !ok && strings.HasPrefix(name, "/seg-") {
			removed++
		}
	}
	if removed < 3 {
		t.Errorf("only %d files were removed meanwhile", removed)
	}
	if report, err := Verify(t.Context(), dir, nil); err != nil || report.Experts != 1 || report.Passages != 58 {
		t.Errorf("%+v, %v", report, err)
	}
}
