package keeping

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// reader reads files in this process.
func reader() *documents.Extractor { return documents.NewExtractor(limits(), nil) }

func limits() documents.Limits {
	return documents.Limits{
		FileBytes: 1 << 20, UnpackedBytes: 1 << 20, TextBytes: 1 << 20, Blocks: 1 << 16,
		Time: time.Minute, Depth: 3, Members: 100,
	}
}

// shelf is a collection on disk.
type shelf struct {
	*Keeper
	live  *folder.Live
	after func(id string) error // what Put is to fail with; nil: nothing
}

func newShelf(t *testing.T, dir string) *shelf {
	t.Helper()
	if _, err := os.Stat(dir); err != nil {
		first := []corpus.Passage{{ID: "hand", Text: "put by hand"}}
		if _, err := folder.Build(t.Context(), dir, &someSource{first}, store.BuildOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	live, err := folder.OpenLive(dir, folder.LiveOptions{FlushAfter: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s := &shelf{New(live, documents.Options{Limits: limits(), Words: 10}, nil), live, nil}
	t.Cleanup(func() { _ = live.Close() })
	return s
}

type someSource struct{ left []corpus.Passage }

func (s *someSource) Next() (p corpus.Passage, err error) {
	if len(s.left) == 0 {
		return p, io.EOF
	}
	p = s.left[0]
	s.left = s.left[1:]
	return p, nil
}
func (s *someSource) Place() corpus.Place      { return corpus.Place{} }
func (s *someSource) Progress() (int64, int64) { return 0, -1 }

func (s *shelf) Put(ctx context.Context, f DocumentFile) (ChangeResult, error) {
	if s.after != nil {
		if err := s.after(f.ID); err != nil {
			return ChangeResult{}, err
		}
	}
	return s.Keeper.Put(ctx, f, Condition{})
}

func (s *shelf) Delete(ctx context.Context, id string) (ChangeResult, error) {
	return s.Keeper.Delete(ctx, id, Condition{})
}

func (s *shelf) Documents(
	ctx context.Context,
	after string,
	limit int,
) (found []corpus.Document, next string, err error) {
	if err := s.live.Flush(ctx); err != nil {
		return nil, "", err
	}
	g := s.live.Collection().Acquire()
	defer g.Release()
	if after != "" {
		after = corpus.PassageID(after, 1)
	}
	firsts, err := g.DocumentsAfter(after, limit)
	for _, o := range firsts {
		p, err := g.Passage(o)
		if err != nil {
			return nil, "", err
		}
		d, _, _ := corpus.DocumentOf(&p)
		found = append(found, d)
		next = d.ID
	}
	if len(firsts) < limit {
		next = ""
	}
	return found, next, err
}

// texts returns the texts of all documents.
func (s *shelf) texts(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	get := func(ctx context.Context, id string) (corpus.Passage, string, bool, error) {
		return s.live.Passage(ctx, id, func(int) error { return nil })
	}
	for after := ""; ; {
		found, next, err := s.Documents(t.Context(), after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range found {
			_, _, all, ok, err := Passages(t.Context(), get, d.ID)
			if err != nil || !ok {
				t.Fatal(d.ID, ok, err)
			}
			out[d.ID], err = corpus.JoinDocument(all)
			if err != nil {
				t.Fatal(err)
			}
		}
		after = next
		if next == "" {
			return out
		}
	}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func zipped(t *testing.T, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.Write([]byte(files[name]))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const mail = "From: a@example.org\r\nSubject: Minutes\r\nMIME-Version: 1.0\r\n" +
	"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n%s\r\n" +
	"--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=%s\r\n\r\nAttached words.\r\n--b--\r\n"

// TestSync follows a folder through changes of all kinds: what is there afterwards is what
// the files say.
func TestSync(t *testing.T) {
	s := newShelf(t, filepath.Join(t.TempDir(), "c"))
	dir, other := t.TempDir(), t.TempDir()
	write(t, other, map[string]string{"other.md": "Of another folder."})
	write(t, dir, map[string]string{
		"a.md": "# A\n\nFirst words.", "sub/b.txt": "Second words.", "gone.md": "Is removed.",
		"archive.zip": zipped(t, map[string]string{"x.md": "In an archive.", "y.md": "Too."}),
		"mail.eml":    fmt.Sprintf(mail, "Mail words.", "note.txt"),
		"bad.docx":    "PK\x03\x04 rubbish", "will-break.md": "Good words.", ".hidden.md": "Not this.",
	})
	alone := DocumentFile{About: documents.About{ID: "put.md"}, Data: []byte("Put by itself.")}
	if _, err := s.Put(t.Context(), alone); err != nil {
		t.Fatal(err)
	}
	failures := map[string]bool{}
	sync := func(roots ...string) SyncReport {
		t.Helper()
		clear(failures)
		failed := func(path string, err error) { failures[path] = true }
		got, err := Sync(t.Context(), s, SyncOptions{Roots: roots, Reader: reader(), Failed: failed})
		if err != nil {
			t.Fatal(err)
		}
		got.Seq = 0
		return got
	}
	if got := sync(dir, other); !reflect.DeepEqual(got, SyncReport{Added: 9, Failed: 1}) || !failures["bad.docx"] {
		t.Fatalf("the first time: %+v %v", got, failures)
	}
	if got := sync(dir, other); !reflect.DeepEqual(got, SyncReport{Unchanged: 8, Failed: 1}) {
		t.Fatalf("again: %+v %v", got, failures)
	}
	write(t, dir, map[string]string{
		"a.md": "# A\n\nOther words.\n\n# More", "new.md": "New words.", "will-break.md": "",
		"archive.zip": zipped(t, map[string]string{"x.md": "In an archive, changed."}),
		"mail.eml":    fmt.Sprintf(mail, "Mail words, changed.", "other.txt"),
	})
	if err := os.Remove(filepath.Join(dir, "gone.md")); err != nil {
		t.Fatal(err)
	}
	// a.md, archive.zip/x.md and mail.eml are replaced, new.md and mail.eml/other.txt added;
	// gone.md, archive.zip/y.md and mail.eml/note.txt are gone, and will-break.md is empty.
	if got := sync(dir); !reflect.DeepEqual(got, SyncReport{Added: 2, Replaced: 3, Removed: 4, Unchanged: 1, Failed: 1}) {
		t.Fatalf("after the changes: %+v %v", got, failures)
	}
	want := map[string]string{
		"a.md": "A\n\nOther words.\n\nMore", "sub/b.txt": "Second words.", "new.md": "New words.",
		"archive.zip/x.md": "In an archive, changed.", "put.md": "Put by itself.", "other.md": "Of another folder.",
	}
	got := s.texts(t)
	if !strings.Contains(got["mail.eml"], "changed") || got["mail.eml/other.txt"] != "Attached words." {
		t.Errorf("mail: %q %q", got["mail.eml"], got["mail.eml/other.txt"])
	}
	delete(got, "mail.eml")
	delete(got, "mail.eml/other.txt")
	if !maps.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// A folder that is not there removes nothing.
	nowhere := SyncOptions{Roots: []string{filepath.Join(dir, "nowhere")}, Reader: reader()}
	if _, err := Sync(t.Context(), s, nowhere); err == nil {
		t.Error("a folder that is not there is followed")
	}
	if len(s.texts(t)) != len(want)+2 {
		t.Error("documents were removed")
	}
}

// TestSyncInterrupted ends at every document in turn, and goes on: in the end the
// collection is what the files say, and at no time has it half of a document.
func TestSyncInterrupted(t *testing.T) {
	dir := t.TempDir()
	collection := filepath.Join(t.TempDir(), "c")
	want := map[string]string{}
	stopped := errors.New("stopped")
	for round := range 3 {
		files := map[string]string{}
		clear(want)
		for i := range 6 {
			if i == round {
				_ = os.Remove(filepath.Join(dir, fmt.Sprintf("%d.md", i)))
				continue
			}
			text := strings.Repeat(fmt.Sprintf("Round%d of file %d has these words.\n\n", round, i), 1+(round+i)%4)
			files[fmt.Sprintf("%d.md", i)] = text
			want[fmt.Sprintf("%d.md", i)] = strings.TrimSpace(text)
		}
		write(t, dir, files)
		for stop := 0; ; stop++ {
			s := newShelf(t, collection)
			n := 0
			s.after = func(string) error {
				if n++; n > 1 {
					return stopped
				}
				return nil
			}
			_, err := Sync(t.Context(), s, SyncOptions{Roots: []string{dir}, Reader: reader()})
			for id, text := range s.texts(t) {
				rounds := map[string]bool{}
				for word := range strings.FieldsSeq(text) {
					if strings.HasPrefix(word, "Round") {
						rounds[word] = true
					}
				}
				if len(rounds) != 1 {
					t.Errorf("%s has parts of %v", id, rounds)
				}
			}
			done := err == nil
			if done {
				if got := s.texts(t); !maps.Equal(got, want) {
					t.Errorf("round %d: got %q\nwant %q", round, got, want)
				}
			} else if !errors.Is(err, stopped) {
				t.Fatal(err)
			}
			if err := s.live.Close(); err != nil {
				t.Fatal(err)
			}
			if done {
				break
			}
			if stop > 10 {
				t.Fatal("it never ends")
			}
		}
	}
}

// TestSyncSamePaths: two roots with a file of the same path are both followed, and a change of
// one leaves the other's document alone.
func TestSyncSamePaths(t *testing.T) {
	s := newShelf(t, filepath.Join(t.TempDir(), "c"))
	above := t.TempDir()
	write(t, above, map[string]string{"docs/README.md": "Of the guide.", "src/README.md": "Of the source."})
	sync := func(want SyncReport) {
		t.Helper()
		o := SyncOptions{Roots: []string{filepath.Join(above, "docs"), filepath.Join(above, "src")}, Reader: reader()}
		got, err := Sync(t.Context(), s, o)
		got.Seq = 0
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v %v, want %+v", got, err, want)
		}
	}
	sync(SyncReport{Added: 2})
	sync(SyncReport{Unchanged: 2})
	write(t, above, map[string]string{"src/README.md": "Of the new source."})
	sync(SyncReport{Replaced: 1, Unchanged: 1})
	want := map[string]string{"README.md": "Of the guide.", "src/README.md": "Of the new source."}
	if got := s.texts(t); !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPutOverFollowed: who puts something else in the place of a document that follows a file is told that the file
// comes again.
func TestPutOverFollowed(t *testing.T) {
	s := newShelf(t, filepath.Join(t.TempDir(), "c"))
	folder := t.TempDir()
	write(t, folder, map[string]string{"README.md": "Of the file."})
	o := SyncOptions{Roots: []string{folder}, Reader: reader()}
	if _, err := Sync(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
	for _, warned := range []bool{true, false} { // the second time it replaces what was put
		f := DocumentFile{About: documents.About{ID: "README.md"}, Data: []byte("Of the caller.")}
		r, err := s.Keeper.Put(t.Context(), f, Condition{})
		if err != nil || (len(r.Warnings) > 0) != warned {
			t.Errorf("%+v %v, want a warning: %t", r, err, warned)
		}
	}
	if r, err := Sync(t.Context(), s, o); err != nil || r.Added != 1 {
		t.Errorf("%+v %v", r, err)
	}
}
