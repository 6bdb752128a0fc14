package collection

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"conclave/corpus"
)

// unsynced is a disk on which, while it fails, a folder's names cannot be synced
// once a manifest was renamed in it.
type unsynced struct {
	disk
	failing, renamed atomic.Bool
}

func (d *unsynced) Rename(from, to string) error {
	if filepath.Base(to) == manifestName {
		d.renamed.Store(true)
	}
	return d.disk.Rename(from, to)
}

func (d *unsynced) SyncDir(path string) error {
	if d.failing.Load() && d.renamed.Load() {
		return &os.PathError{Op: "sync", Path: path, Err: syscall.EIO}
	}
	d.renamed.Store(false)
	return d.disk.SyncDir(path)
}

// TestUnsettled: when the folder cannot be synced behind a manifest's rename,
// nothing that either generation names is removed, writing stops and says so,
// and goes on when the disk is well.
func TestUnsettled(t *testing.T) {
	t.Parallel()
	d := &unsynced{disk: osDisk{}}
	dir := built(t, crashOptions().Build, []corpus.Passage{{ID: "first", Text: "x"}})
	o := crashOptions()
	o.Merge.Off = true
	failed := make(chan error, 100)
	o.Failed = func(err error) { failed <- err }
	l := lively(t, d, dir, o)
	applyOne := func(id string) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := l.Apply(ctx, []Change{put(numbered(id, 1))})
		return err
	}
	d.failing.Store(true)
	if err := applyOne("a"); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, ErrUnsettled) {
		t.Fatalf("the flush: %v", err)
	}
	if err := l.Backlog().Trouble; !errors.Is(err, ErrUnsettled) || !errors.Is(err, syscall.EIO) {
		t.Fatalf("the trouble is %v", err)
	}
	if err := applyOne("b"); !errors.Is(err, ErrUnsettled) {
		t.Fatalf("a change that comes meanwhile: %v", err)
	}
	g := l.Collection().Acquire()
	if got := contents(t, g); len(got) != 1 {
		t.Errorf("searches see %v", got)
	}
	g.Release()
	if _, err := Verify(t.Context(), dir, nil); err != nil { // what a kill would leave now
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "seg-000001")); err != nil {
		t.Fatal(err) // nor what a power cut would
	}

	d.failing.Store(false)
	if err := applyOne("b"); err != nil {
		t.Fatal(err)
	}
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	g = l.Collection().Acquire()
	defer g.Release()
	if got := contents(t, g); len(got) != 3 || g.Len() != 3 {
		t.Errorf("searches see %v", got)
	}
}

// TestUnsettledKill: a process that ended before its last manifest was known to
// be durable is followed by one that makes it so before it clears up.
func TestUnsettledKill(t *testing.T) {
	t.Parallel()
	forgetful := newForgetfulDisk(t, 1<<30)
	d := &unsynced{disk: forgetful}
	disk := memoryDir(t)
	dir := filepath.Join(disk, "index")
	if _, err := build(t.Context(), d, dir, of([]corpus.Passage{{ID: "first", Text: "x"}, {ID: "second", Text: "x"}, {ID: "third", Text: "x"}}), crashOptions().Build); err != nil {
		t.Fatal(err)
	}
	w, err := openWriter(d, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Delete(t.Context(), []string{"first"}); err != nil {
		t.Fatal(err)
	}
	d.failing.Store(true)
	if _, err := w.Delete(t.Context(), []string{"second"}); !errors.Is(err, ErrUnsettled) {
		t.Fatalf("deleting: %v", err)
	}
	_ = unlock(w.lock) // it is killed
	for _, left := range []string{forgetful.kept(disk), forgetful.forgotten(disk), forgetful.hasty(disk)} {
		if _, err := Verify(t.Context(), filepath.Join(left, "index"), nil); err != nil {
			t.Fatal(err)
		}
	}
	d.failing.Store(false)
	if w, err = openWriter(d, dir); err != nil {
		t.Fatal(err)
	}
	_ = unlock(w.lock)
	if err := forgetful.SyncDir(filepath.Join(dir, "seg-000001")); err != nil { // of its own accord
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), filepath.Join(forgetful.forgotten(disk), "index"), nil); err != nil {
		t.Fatal(err)
	}
}

// TestOtherWriter: who removes LOCK lets a second writer in. The first stops,
// at its next change, and neither overwrites what the other published.
func TestOtherWriter(t *testing.T) {
	t.Parallel()
	dir := built(t, crashOptions().Build, []corpus.Passage{{ID: "first", Text: "x"}})
	o := crashOptions()
	o.FlushAfter, o.Merge.Off = time.Hour, true
	first := lively(t, osDisk{}, dir, o)
	if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	second := lively(t, osDisk{}, dir, o)
	apply(t, second, put(numbered("b", 2)))
	if err := second.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := first.Apply(t.Context(), []Change{put(numbered("a", 1))})
	if !errors.Is(err, ErrOtherWriter) || !strings.Contains(err.Error(), lockName) {
		t.Fatalf("the first writer: %v", err)
	}
	if err := first.Backlog().Trouble; !errors.Is(err, ErrOtherWriter) {
		t.Errorf("its trouble is %v", err)
	}
	if g := first.Collection().Acquire(); true {
		if len(contents(t, g)) != 1 {
			t.Error("its searches do not go on")
		}
		g.Release()
	}
	if _, ok, err := second.writer.passage("b"); !ok || err != nil {
		t.Errorf("the second writer's passage: %v %v", ok, err)
	}
}

// TestOverwritten: a writer that finds another generation than its own on disk
// publishes nothing, although it holds the lock.
func TestOverwritten(t *testing.T) {
	t.Parallel()
	dir := built(t, crashOptions().Build, []corpus.Passage{{ID: "first", Text: "x"}, {ID: "second", Text: "x"}})
	w, err := OpenWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	foreign := w.snapshot().next()
	if _, err := writeManifest(osDisk{}, dir, foreign); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := w.Delete(t.Context(), []string{"first"}); !errors.Is(err, ErrOtherWriter) {
			t.Fatalf("deleting: %v", err)
		}
	}
	if m, err := readManifest(osDisk{}, dir); err != nil || !same(m, foreign) {
		t.Errorf("the other's generation was overwritten: %v", err)
	}
	if _, err := Verify(t.Context(), dir, nil); err != nil {
		t.Error(err)
	}
}
