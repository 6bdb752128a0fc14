package folder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// alike returns passages whose files are as large as those of others with another
// letter or shift: what differs is which passage has which text and tag.
func alike(letter string, shift int) (out []corpus.Passage) {
	for i := range 40 {
		n := (i + shift) % 40
		out = append(
			out,
			corpus.Passage{
				ID:   fmt.Sprintf("%s%02d", letter, i),
				Text: fmt.Sprintf("text number w%02d", n),
				Tags: []string{fmt.Sprintf("t%02d", n)},
			},
		)
	}
	return out
}

// TestSwappedFiles puts each file of a collection in the place of each other one
// that is as large: of another segment, of another expert of the same segment, of
// another collection, and of a snapshot that went its own way. None is taken for
// what it is not, and the error says which file.
func TestSwappedFiles(t *testing.T) {
	experts := []store.PassageEncoder{&hashEncoder{name: "a", dimension: 4}, &hashEncoder{name: "b", dimension: 4}}
	o := store.BuildOptions{Experts: experts, Index: store.Index{Kind: ann.HNSW, EfConstruction: 40}}
	dir := built(t, o, alike("a", 0), alike("b", 7))
	twin := filepath.Join(filepath.Dir(dir), "twin")
	if _, err := Snapshot(t.Context(), dir, twin); err != nil {
		t.Fatal(err)
	}
	other := built(t, o, alike("a", 3), alike("b", 11))
	for at, path := range []string{dir, other, twin} {
		for _, ids := range [][]string{{fmt.Sprintf("a%02d", at)}, {fmt.Sprintf("b%02d", 5+at)}} {
			if _, err := Delete(t.Context(), path, ids); err != nil {
				t.Fatal(err)
			}
		}
	}
	files := map[string]string{}
	for _, from := range []string{dir, other, twin} {
		for name, content := range tree(t, from) {
			if strings.HasPrefix(name, "/seg-") {
				files[from+name] = content
			}
		}
	}
	swapped := map[string]int{}
	for path, content := range files {
		if !strings.HasPrefix(path, dir+"/") {
			continue
		}
		for source, theirs := range files {
			if len(theirs) != len(content) || theirs == content {
				continue
			}
			if err := os.WriteFile(path+".new", []byte(theirs), 0o600); err != nil { // in its place; the twin shares the file
				t.Fatal(err)
			}
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir); err == nil ||
				!strings.Contains(err.Error(), path+" is not the file that the manifest names") {
				t.Errorf("%s in place of %s: %v", source, path, err)
			}
			if _, err := Verify(t.Context(), dir, nil); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%s in place of %s: verify says %v", source, path, err)
			}
			swapped[strings.Split(filepath.Base(path), "-")[0]]++
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{storeName, wordsName, tagsName, "deleted", "a", "b"} {
		if swapped[kind] < 2 {
			t.Errorf("%d files were put in the place of %s", swapped[kind], kind)
		}
	}
	t.Logf("swapped %v", swapped)
	for _, path := range []string{dir, other, twin} {
		if _, err := Verify(t.Context(), path, nil); err != nil {
			t.Error(err)
		}
	}
	before, err := readManifest(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := readManifest(disk.OS{}, twin); err != nil || m.ID == before.ID {
		t.Errorf("a snapshot is a collection of its own, and has the id %s, %v", before.ID, err)
	}
}

// TestOtherFormat refuses a collection whose manifest has a format that the program does not read, and says what to do.
func TestOtherFormat(t *testing.T) {
	dir := t.TempDir()
	body := []byte("{}\n")
	if err := os.WriteFile(filepath.Join(dir, manifest.FileName),
		append([]byte(manifest.Begin+"1 xxh3 "+disk.Sum(body)+"\n"), body...), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() error{
		"Open":       func() error { _, err := Open(dir); return err },
		"OpenWriter": func() error { _, err := openWriter(disk.OS{}, dir); return err },
		"Verify":     func() error { _, err := Verify(t.Context(), dir, nil); return err },
	} {
		if err := open(); !errors.Is(err, ErrOtherFormat) ||
			!strings.Contains(err.Error(), fmt.Sprintf("format 1, this program reads format %d: ", manifest.Format)) ||
			!strings.HasSuffix(err.Error(), "or make it again") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
