package keeping

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// following is a collection that follows a folder of the test.
type following struct {
	*shelf
	t        *testing.T
	dir      string
	warnings map[string]string
}

func newFollowing(t *testing.T) *following {
	return &following{newShelf(t, filepath.Join(t.TempDir(), "c")), t, t.TempDir(), map[string]string{}}
}

// files writes ten files, two of which are in the folder mount.
func (f *following) files() {
	files := map[string]string{}
	for i := range 8 {
		files[fmt.Sprintf("%d.md", i)] = fmt.Sprintf("Words of file %d.", i)
	}
	files["mount/a.md"] = "Words of a mounted file."
	files["mount/deep/b.md"] = "Words of another."
	write(f.t, f.dir, files)
}

func (f *following) remove(names ...string) {
	f.t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(f.dir, name)); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *following) sync(change func(*SyncOptions)) SyncReport {
	f.t.Helper()
	clear(f.warnings)
	o := SyncOptions{
		Roots: []string{f.dir}, Reader: reader(), AtOnce: 4,
		Warned: func(path, warning string) { f.warnings[path] = warning },
	}
	if change != nil {
		change(&o)
	}
	got, err := Sync(f.t.Context(), f.shelf, o)
	if err != nil {
		f.t.Fatal(err)
	}
	got.Seq = 0
	return got
}

func (f *following) want(step string, got, want SyncReport) {
	f.t.Helper()
	if !reflect.DeepEqual(got, want) {
		f.t.Errorf("%s: %+v, want %+v", step, got, want)
	}
}

func deleteAll(o *SyncOptions) { o.DeleteAll = true }

// TestEmptyFolderRemovesNothing: a root that is empty, as one that is not mounted, or has lost more than half of
// its documents, keeps them until that is confirmed; so does an empty folder below it.
func TestEmptyFolderRemovesNothing(t *testing.T) {
	f := newFollowing(t)
	f.files()
	f.want("the first time", f.sync(nil), SyncReport{Added: 10})

	f.remove("mount/a.md", "mount/deep")
	write(t, f.dir, map[string]string{"mount/.hidden": "x", "mount/lost/deep/.hidden": "x", "new.md": "New words."})
	earlier := time.Now().Add(-time.Hour) // before what was mounted on it was written
	if err := os.Chtimes(filepath.Join(f.dir, "mount"), earlier, earlier); err != nil {
		t.Fatal(err)
	}
	mount := Held{Folder: filepath.Join(f.dir, "mount"), Documents: 2, Of: 10, Empty: true}
	f.want("an empty folder below", f.sync(nil), SyncReport{Added: 1, Unchanged: 8, Held: []Held{mount}})
	f.files()
	f.want("it is back", f.sync(nil), SyncReport{Unchanged: 11})
	f.remove("mount")
	f.want("it was removed with its folder", f.sync(nil), SyncReport{Removed: 2, Unchanged: 9})

	later := time.Now().Add(time.Hour)
	write(t, f.dir, map[string]string{"few/a.md": "One of few."})
	f.want("a folder of one file", f.sync(nil), SyncReport{Added: 1, Unchanged: 9})
	f.remove("few/a.md")
	if err := os.Chtimes(filepath.Join(f.dir, "few"), later, later); err != nil {
		t.Fatal(err)
	}
	f.want("which was deleted later", f.sync(nil), SyncReport{Removed: 1, Unchanged: 9})
	f.remove("few")

	f.remove("1.md", "2.md", "3.md", "4.md")
	f.want("four of nine", f.sync(nil), SyncReport{Removed: 4, Unchanged: 5})
	f.remove("5.md", "6.md", "7.md")
	most := Held{Folder: f.dir, Documents: 3, Of: 5}
	f.want("three of five", f.sync(nil), SyncReport{Unchanged: 2, Held: []Held{most}})
	write(t, f.dir, map[string]string{"moved/5.md": "Words of file 5."})
	f.want("one of them is elsewhere", f.sync(nil), SyncReport{Added: 1, Removed: 3, Unchanged: 2})

	f.remove("0.md", "new.md", "moved")
	root := Held{Folder: f.dir, Documents: 3, Of: 3, Empty: true}
	f.want("the root is empty", f.sync(nil), SyncReport{Held: []Held{root}})
	if n := len(f.texts(t)); n != 3 {
		t.Errorf("%d documents are left, want 3", n)
	}
	f.want("and that is meant", f.sync(deleteAll), SyncReport{Removed: 3})
}

// TestEmptiedFilesAreForgotten: files that were emptied lose their text with a warning, but not all at once.
func TestEmptiedFilesAreForgotten(t *testing.T) {
	f := newFollowing(t)
	f.files()
	f.sync(nil)
	write(t, f.dir, map[string]string{"1.md": "", "2.md": " \n"})
	f.want("two of ten", f.sync(nil), SyncReport{Removed: 2, Unchanged: 8})
	if len(f.warnings) != 2 || !strings.Contains(f.warnings["1.md"], "empty") {
		t.Errorf("the warnings are %q", f.warnings)
	}
	for i := range 8 {
		write(t, f.dir, map[string]string{fmt.Sprintf("%d.md", i): ""})
	}
	got := f.sync(nil)
	if got.Removed != 0 || len(got.Held) != 1 || got.Held[0].Documents != 6 {
		t.Errorf("all of them: %+v", got)
	}
}

// TestFoldersOfTwoCommands: the files of two folders that are followed by separate commands do not take each
// other's ids, nor those of documents that were put by hand, whichever is followed again.
func TestFoldersOfTwoCommands(t *testing.T) {
	s := newShelf(t, filepath.Join(t.TempDir(), "c"))
	above := t.TempDir()
	write(t, above, map[string]string{
		"one/README.md": "Of one.", "two/README.md": "Of two.", "two/put.md": "Of two, too.",
		"two/a.zip": zipped(t, map[string]string{"x.md": "In two's archive."}),
		"one/a.zip": zipped(t, map[string]string{"x.md": "In one's archive."}),
	})
	alone := DocumentFile{Data: []byte("Put by itself.")}
	alone.ID = "put.md"
	if _, err := s.Put(t.Context(), alone); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"README.md": "Of one.", "two/README.md": "Of two.", "put.md": "Put by itself.", "two/put.md": "Of two, too.",
		"a.zip/x.md": "In one's archive.", "two/a.zip/x.md": "In two's archive.",
	}
	sync := func(folder string) map[string]string {
		t.Helper()
		warnings := map[string]string{}
		_, err := Sync(t.Context(), s, SyncOptions{
			Roots: []string{filepath.Join(above, folder)}, Reader: reader(),
			Warned: func(path, warning string) { warnings[path] = warning },
		})
		if err != nil {
			t.Fatal(err)
		}
		return warnings
	}
	sync("one")
	warnings := sync("two")
	for _, folder := range []string{"one", "two", "one"} {
		if got := s.texts(t); !maps.Equal(got, want) {
			t.Fatalf("before %s: got %q\nwant %q", folder, got, want)
		}
		sync(folder)
	}
	if !strings.Contains(warnings["two/README.md"], `"README.md"`) || warnings["two/put.md"] == "" {
		t.Errorf("the warnings are %q", warnings)
	}
	// The first one's file goes: the other keeps its id.
	if err := os.Remove(filepath.Join(above, "one", "README.md")); err != nil {
		t.Fatal(err)
	}
	sync("one")
	sync("two")
	delete(want, "README.md")
	if got := s.texts(t); !maps.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestMovedFolder: the documents of a folder that moved stay under their ids, and what was removed in the same
// step goes.
func TestMovedFolder(t *testing.T) {
	f := newFollowing(t)
	f.files()
	f.sync(nil)
	before := f.dir
	f.dir = filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Rename(before, f.dir); err != nil {
		t.Fatal(err)
	}
	f.remove("0.md", "1.md")
	write(t, f.dir, map[string]string{"2.md": "Other words."})
	f.want("moved", f.sync(func(o *SyncOptions) { o.MovedFrom = before }), SyncReport{Replaced: 8, Removed: 2})
	f.want("again", f.sync(nil), SyncReport{Unchanged: 8})
	f.remove("3.md")
	f.want("of the new place", f.sync(nil), SyncReport{Removed: 1, Unchanged: 7})
	if ids := slices.Sorted(maps.Keys(f.texts(t))); !slices.Equal(ids, []string{
		"2.md", "4.md", "5.md", "6.md", "7.md", "mount/a.md", "mount/deep/b.md",
	}) {
		t.Errorf("the documents are %q", ids)
	}
	_, err := Sync(t.Context(), f.shelf, SyncOptions{Roots: []string{f.dir, before}, MovedFrom: before, Reader: reader()})
	if err == nil {
		t.Error("two folders have moved from one")
	}
}
