package folder

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/wal"
)

// failingDisk fails one kind of operation on the log when it is told to.
type failingDisk struct {
	disk.OS
	mu    sync.Mutex
	what  string
	err   error
	times int // how often; below zero is always
}

func (d *failingDisk) set(what string, err error, times int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.what, d.err, d.times = what, err, times
}

func (d *failingDisk) fails(what, path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.what != what || d.times == 0 || !strings.Contains(path+"/", "/"+wal.Folder+"/") {
		return nil
	}
	d.times--
	return d.err
}

func (d *failingDisk) Create(path string) (disk.File, error) {
	if err := d.fails("create", path); err != nil {
		return nil, err
	}
	f, err := d.OS.Create(path)
	return &failingFile{f, d, path}, err
}

func (d *failingDisk) Rename(from, to string) error {
	if err := d.fails("rename", to); err != nil {
		return err
	}
	err := d.OS.Rename(from, to)
	if after := d.fails("after rename", to); after != nil {
		return after
	}
	return err
}

func (d *failingDisk) SyncDir(path string) error {
	return errors.Join(d.fails("sync folder", path), d.OS.SyncDir(path))
}

func (d *failingDisk) RemoveAll(path string) error {
	if err := d.fails("remove", path); err != nil {
		return err
	}
	return d.OS.RemoveAll(path)
}

type failingFile struct {
	disk.File
	disk *failingDisk
	path string
}

func (f *failingFile) Write(b []byte) (int, error) {
	if err := f.disk.fails("write", f.path); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

// Sync fails though all is written: what is read back is what was refused.
func (f *failingFile) Sync() error {
	return errors.Join(f.disk.fails("sync", f.path), f.File.Sync())
}

// TestLogTrouble fails every operation on the log, once and for a while, with a
// file begun and without. A change that was refused is not there; it is said
// that changes are refused for as long as they are; the next one goes through
// once the fault has gone; and what was acknowledged is there after a kill at any
// of these moments.
func TestLogTrouble(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"create", "write", "sync", "rename", "after rename", "sync folder", "remove"} {
		for _, fault := range []error{syscall.EIO, syscall.ENOSPC, syscall.EMFILE, syscall.EROFS} {
			for _, begun := range []bool{false, true} {
				for _, times := range []int{1, -1} {
					name := fmt.Sprintf("%s %v begun %v times %d", what, fault, begun, times)
					if times < 0 || fault == syscall.EIO {
						t.Run(name, func(t *testing.T) { logTrouble(t, what, fault, begun, times) })
					}
				}
			}
		}
	}
}

func logTrouble(t *testing.T, what string, fault error, begun bool, times int) {
	dir := filepath.Join(memoryDir(t), "index")
	first := of([]corpus.Passage{{ID: "first", Text: "one"}})
	if _, err := Build(t.Context(), dir, first, store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	d := &failingDisk{}
	l := lively(t, d, dir, LiveOptions{FlushAfter: time.Hour})
	acknowledged := map[string]bool{"first": true}
	refused := 0
	try := func(id string) error {
		results, err := l.Apply(t.Context(), []store.Change{put(corpus.Passage{ID: id, Text: "x"})})
		_, _, there, failed := l.Passage(t.Context(), id, anyRoom)
		if failed != nil || there != (err == nil) {
			t.Fatalf("%s: %+v, %v, and it is there: %v, %v", id, results, err, there, failed)
		}
		if err == nil {
			acknowledged[id] = true
		}
		return err
	}
	check := func(when string) {
		t.Helper()
		left := filepath.Join(memoryDir(t), "left")
		if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		after := lively(t, disk.OS{}, left, LiveOptions{FlushAfter: time.Hour})
		if err := after.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		found := slices.Sorted(maps.Keys(contents(t, opened(t, left))))
		for id := range acknowledged {
			if !slices.Contains(found, id) {
				t.Errorf("%s: %s was acknowledged and is lost: %q", when, id, found)
			}
		}
		if _, err := Verify(t.Context(), left, nil); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		if err := after.Close(); err != nil {
			t.Error(err)
		}
	}
	if begun {
		if err := try("before"); err != nil {
			t.Fatal(err)
		}
	}
	d.set(what, fault, times)
	for i := range 3 {
		err := try(fmt.Sprint("during ", i))
		if err != nil && !errors.Is(err, fault) {
			t.Fatalf("another error: %v", err)
		}
		if trouble := l.Backlog().Trouble; (err == nil) != (trouble == nil) {
			t.Fatalf("refused with %v, and the trouble is %v", err, trouble)
		}
		if err != nil {
			refused++
		}
		check(fmt.Sprint("after the change ", i))
	}
	d.set("", nil, 0)
	if err := try("after"); err != nil || l.Backlog().Trouble != nil {
		t.Fatalf("the fault has gone: %v, %v", err, l.Backlog().Trouble)
	}
	check("when the fault has gone")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	found := 0
	err := wal.Each(
		disk.OS{},
		dir,
		l.writer.manifest.ID,
		l.writer.manifest.Applied,
		func(uint64, wal.Kind, []byte, wal.ContentPlace) error { return nil },
	)
	if err != nil {
		t.Fatal(err)
	}
	again := lively(t, disk.OS{}, dir, LiveOptions{FlushAfter: time.Hour})
	if err := again.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id := range contents(t, opened(t, dir)) {
		if !acknowledged[id] {
			t.Errorf("%s was refused and came back", id)
		}
		found++
	}
	if found != len(acknowledged) || found+refused != 5+map[bool]int{true: 1}[begun] {
		t.Errorf("%d passages, %d acknowledged, %d refused", found, len(acknowledged), refused)
	}
}

// TestLogTroubleEnds: nobody writes any more, and the log is in order again all
// the same.
func TestLogTroubleEnds(t *testing.T) {
	t.Parallel()
	dir := built(t, store.BuildOptions{}, []corpus.Passage{{ID: "a", Text: "one"}})
	d := &failingDisk{}
	failures := make(chan error, 100)
	l := lively(t, d, dir, LiveOptions{FlushAfter: time.Hour, Failed: func(err error) { failures <- err }})
	d.set("sync", syscall.EIO, -1)
	if _, err := l.Apply(t.Context(), []store.Change{{Delete: "a"}}); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	<-failures // of the change
	<-failures // of the first attempt after it
	if err := l.Backlog().Trouble; !errors.Is(err, syscall.EIO) {
		t.Fatalf("the trouble is %v", err)
	}
	d.set("", nil, 0)
	for l.Backlog().Trouble != nil {
		time.Sleep(time.Millisecond)
	}
	if names, err := filepath.Glob(filepath.Join(l.log.Dir, "*.log")); err != nil || len(names) > 1 {
		t.Errorf("%q, %v", names, err)
	}
	if results := apply(t, l, store.Change{Delete: "a"}); results[0].Outcome != store.Deleted {
		t.Errorf("%+v", results)
	}
}

// TestNothingOfARefusedChangeReturns: a put whose sync fails is acknowledged to
// nobody, and its record is whole in the log all the same. Who is told behind it
// that there is no such passage, or that it is as it was, is told the truth also
// after a kill.
func TestNothingOfARefusedChangeReturns(t *testing.T) {
	for name, change := range map[string]store.Change{
		"deleting what is not there": {Delete: "x"},
		"putting what is there":      put(corpus.Passage{ID: "first", Text: "one"}),
	} {
		dir := built(t, store.BuildOptions{}, []corpus.Passage{{ID: "first", Text: "one"}})
		d := &failingDisk{}
		l := lively(t, d, dir, LiveOptions{FlushAfter: time.Hour, retry: time.Hour})
		apply(t, l, put(corpus.Passage{ID: "other", Text: "x"})) // begins the file
		d.set("sync", syscall.EIO, 1)
		refused := []store.Change{
			put(corpus.Passage{ID: "x", Text: "x"}),
			put(corpus.Passage{ID: "first", Text: "two"}),
		}
		if _, err := l.Apply(t.Context(), refused); err == nil {
			t.Fatal("a change was acknowledged without a sync")
		}
		results, err := l.Apply(t.Context(), []store.Change{change})
		if err != nil || results[0].Err != nil ||
			results[0].Outcome != store.Absent && results[0].Outcome != store.Unchanged {
			t.Fatalf("%s: %+v, %v", name, results, err)
		}
		left := filepath.Join(t.TempDir(), "left") // by a kill
		if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		after := lively(t, disk.OS{}, left, LiveOptions{FlushAfter: time.Hour})
		if p, _, ok, err := after.Passage(t.Context(), "x", anyRoom); ok || err != nil {
			t.Errorf("%s: %+v is there after a kill, %v", name, p, err)
		}
		if p, _, ok, err := after.Passage(t.Context(), "first", anyRoom); !ok || err != nil || p.Text != "one" {
			t.Errorf("%s: the passage is %+v after a kill, %v", name, p, err)
		}
	}
}

// TestLogWritesAnew: a record that a killed process wrote and perhaps did not
// sync is synced before anybody is shown it, from memory: the system may have
// given up writing what it holds of the file.
func TestLogWritesAnew(t *testing.T) {
	dir := memoryDir(t)
	const id = "0123456789abcdef0123456789abcdef"
	ignore := func(uint64, wal.Kind, []byte, wal.ContentPlace) error { return nil }
	first, err := wal.Open(disk.OS{}, dir, id, 0, ignore)
	if err != nil {
		t.Fatal(err)
	}
	both := []wal.Change{{Kind: wal.Delete, Content: []byte("a")}, {Kind: wal.Delete, Content: []byte("b")}}
	if _, err := first.Append(both); err != nil {
		t.Fatal(err)
	}
	_ = first.File.Close() // as a kill does: behind the last record is no evidence
	d := newForgetfulDisk(t, 1<<30)
	shown := 0
	l, err := wal.Open(d, dir, id, 1, func(uint64, wal.Kind, []byte, wal.ContentPlace) error { shown++; return nil })
	if err != nil || shown != 1 {
		t.Fatal(shown, err)
	}
	var left []string
	collect := func(_ uint64, _ wal.Kind, content []byte, _ wal.ContentPlace) error {
		left = append(left, string(content))
		return nil
	}
	err = wal.Each(disk.OS{}, d.Forgotten(dir), id, 1, collect)
	if err != nil || !slices.Equal(left, []string{"b"}) {
		t.Errorf("after a power cut there is %q, %v", left, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	// With evidence that it was synced it stays where it is.
	d = newForgetfulDisk(t, 1<<30)
	again, err := wal.Open(d, dir, id, 0, ignore)
	if err != nil || d.N != 0 || again.Next != 3 {
		t.Errorf("%d operations, the next change is %d, %v", d.N, again.Next, err)
	}
}
