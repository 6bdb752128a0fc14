package folder

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// unsynced is a disk on which, while it fails, a folder's names cannot be synced
// once a manifest was renamed in it.
type unsynced struct {
	disk.Disk
	failing, renamed atomic.Bool
}

func (d *unsynced) Rename(from, to string) error {
	if filepath.Base(to) == manifest.FileName {
		d.renamed.Store(true)
	}
	return d.Disk.Rename(from, to)
}

func (d *unsynced) SyncDir(path string) error {
	if d.failing.Load() && d.renamed.Load() {
		return &os.PathError{Op: "sync", Path: path, Err: syscall.EIO}
	}
	d.renamed.Store(false)
	return d.Disk.SyncDir(path)
}

// TestUnsettled: when the folder cannot be synced behind a manifest's rename,
// nothing that either generation names is removed, writing stops and says so,
// and goes on when the disk is well.
func TestUnsettled(t *testing.T) {
	t.Parallel()
	d := &unsynced{Disk: disk.OS{}}
	dir := built(t, crashOptions().Build, []corpus.Passage{{ID: "first", Text: "x"}})
	o := crashOptions()
	o.Merge.Off = true
	failed := make(chan error, 100)
	o.Failed = func(err error) { failed <- err }
	l := lively(t, d, dir, o)
	applyOne := func(id string) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := l.Apply(ctx, []store.Change{put(numbered(id, 1))})
		return err
	}
	d.failing.Store(true)
	if err := applyOne("a"); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, store.ErrUnsettled) {
		t.Fatalf("the flush: %v", err)
	}
	if err := l.Backlog().Trouble; !errors.Is(err, store.ErrUnsettled) || !errors.Is(err, syscall.EIO) {
		t.Fatalf("the trouble is %v", err)
	}
	if err := applyOne("b"); !errors.Is(err, store.ErrUnsettled) {
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
	d := &unsynced{Disk: forgetful}
	disk := memoryDir(t)
	dir := filepath.Join(disk, "index")
	if _, err := build(t.Context(), d, dir, of([]corpus.Passage{{ID: "first", Text: "x"}, {ID: "second", Text: "x"}, {ID: "third", Text: "x"}}), crashOptions().Build); err != nil {
		t.Fatal(err)
	}
	w, err := openWriter(d, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.delete(t.Context(), []string{"first"}); err != nil {
		t.Fatal(err)
	}
	d.failing.Store(true)
	if _, err := w.delete(t.Context(), []string{"second"}); !errors.Is(err, store.ErrUnsettled) {
		t.Fatalf("deleting: %v", err)
	}
	_ = unlock(w.lock) // it is killed
	for _, left := range []string{forgetful.kept(disk), forgetful.Forgotten(disk), forgetful.hasty(disk)} {
		if _, err := Verify(t.Context(), filepath.Join(left, "index"), nil); err != nil {
			t.Fatal(err)
		}
	}
	d.failing.Store(false)
	w, err = openWriter(d, dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = unlock(w.lock)
	if err := forgetful.SyncDir(filepath.Join(dir, "seg-000001")); err != nil { // of its own accord
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), filepath.Join(forgetful.Forgotten(disk), "index"), nil); err != nil {
		t.Fatal(err)
	}
}

// TestOtherWriter: who removes LOCK lets a second writer in. The first stops,
// at its next change, and neither overwrites what the other published.
func TestOtherWriter(t *testing.T) {
	t.Parallel()
	dir := built(t, crashOptions().Build, []corpus.Passage{{ID: "first", Text: "x"}})
	o := crashOptions()
	o.FlushAfter = time.Hour
	o.Merge.Off = true
	first := lively(t, disk.OS{}, dir, o)
	if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	second := lively(t, disk.OS{}, dir, o)
	apply(t, second, put(numbered("b", 2)))
	if err := second.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := first.Apply(t.Context(), []store.Change{put(numbered("a", 1))})
	if !errors.Is(err, store.ErrOtherWriter) || !strings.Contains(err.Error(), lockName) {
		t.Fatalf("the first writer: %v", err)
	}
	if err := first.Backlog().Trouble; !errors.Is(err, store.ErrOtherWriter) {
		t.Errorf("its trouble is %v", err)
	}
	if g := first.Collection().Acquire(); true {
		if len(contents(t, g)) != 1 {
			t.Error("its searches do not go on")
		}
		g.Release()
	}
	if _, ok, err := second.writer.passage("b", anyRoom); !ok || err != nil {
		t.Errorf("the second writer's passage: %v %v", ok, err)
	}
}

// TestOverwritten: a writer that finds another generation than its own on disk
// publishes nothing, although it holds the lock.
func TestOverwritten(t *testing.T) {
	t.Parallel()
	dir := built(t, crashOptions().Build, []corpus.Passage{{ID: "first", Text: "x"}, {ID: "second", Text: "x"}})
	w, err := openWriter(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	foreign := w.snapshot().Next()
	if _, err := manifest.Write(disk.OS{}, dir, foreign); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := w.delete(t.Context(), []string{"first"}); !errors.Is(err, store.ErrOtherWriter) {
			t.Fatalf("deleting: %v", err)
		}
	}
	if m, err := readManifest(disk.OS{}, dir); err != nil || !same(m, foreign) {
		t.Errorf("the other's generation was overwritten: %v", err)
	}
	if _, err := Verify(t.Context(), dir, nil); err != nil {
		t.Error(err)
	}
}

// descriptors are the operations that need one.
var descriptors = []string{
	"open",
	"create",
	"map",
	"readdir",
	"read file",
	"write file",
	"sync",
	"sync folder",
	"remove all",
}

// TestNoDescriptors: where no file can be opened any more from a manifest's
// rename on, what is published is there and is seen; where none can be opened
// before, nothing is published, and it is tried again.
func TestNoDescriptors(t *testing.T) {
	t.Parallel()
	type step struct {
		name string
		do   func(r *faultRun) error
	}
	steps := []step{
		{"flush", func(r *faultRun) error {
			changes := []store.Change{put(numbered("a", 1)), {Delete: "p1"}}
			if r.states.of("a")[0] == "" {
				apply(r.t, r.live, changes...)
				r.states.set(changes, false)
			}
			r.disk.arm()
			return r.flush()
		}},
		{"merge", func(r *faultRun) error {
			r.disk.arm()
			return r.live.merge(r.t.Context(), segmentNames(r.live.writer))
		}},
		{"expert", func(r *faultRun) error {
			r.disk.arm()
			_, err := r.live.AddExpert(r.t.Context(), &hashEncoder{name: "b", dimension: 4}, store.BuildOptions{})
			return err
		}},
		{"no expert", func(r *faultRun) error {
			r.disk.arm()
			return r.live.RemoveExpert(r.t.Context(), "b")
		}},
		{"words", func(r *faultRun) error {
			r.disk.arm()
			_, err := r.live.writer.rebuildWords(r.t.Context(), phrased(), store.BuildOptions{})
			return err
		}},
	}
	for _, behind := range []bool{true, false} {
		r := newFaultRun(t, fmt.Sprint("behind the rename: ", behind), faultTemplate(t), new(sync.Map))
		if err := r.start(); err != nil {
			t.Fatal(err)
		}
		renamed := false
		r.disk.armed = func(_ int, op, path string) error {
			if op == "rename" && filepath.Base(path) == manifest.FileName {
				renamed = true
			}
			if slices.Contains(descriptors, op) && renamed == behind && (!behind || op != "sync folder") {
				return syscall.EMFILE
			}
			return nil
		}
		for _, s := range steps {
			renamed = false
			before := r.live.writer.snapshot().Generation
			err := s.do(r)
			now := r.live.writer.snapshot().Generation // while no flush that is tried again can succeed
			r.disk.inject(nil)
			if behind && err != nil || !behind && !errors.Is(err, syscall.EMFILE) && !errors.Is(err, context.Canceled) {
				t.Fatalf("%s, %s: %v", r.name, s.name, err)
			}
			if !behind {
				if now != before {
					t.Fatalf("%s, %s: generation %d after %d", r.name, s.name, now, before)
				}
				r.lookKilled(s.name)
				if err := s.do(&faultRun{t: t, live: r.live, states: r.states, disk: &faultyDisk{},
					failures: r.failures}); err != nil {
					t.Fatalf("%s, %s, when there are descriptors: %v", r.name, s.name, err)
				}
			}
			r.lookKilled(s.name)
		}
		r.heal()
	}
}

// TestFlood: what a flood of connections does to a collection: now and then no
// file can be opened. Nothing acknowledged is lost, and no passage is there twice.
func TestFlood(t *testing.T) {
	t.Parallel()
	d := &faultyDisk{Disk: disk.OS{}}
	dir := built(t, crashOptions().Build, []corpus.Passage{{ID: "first", Text: "x"}})
	o := crashOptions()
	o.retry = time.Millisecond
	var told atomic.Int64
	o.Failed = func(err error) {
		if errors.Is(err, syscall.EMFILE) {
			told.Add(1)
		}
	}
	l := lively(t, d, dir, o)
	const seed = 15
	chance := rand.New(rand.NewPCG(seed, 1))
	d.inject(func(_ int, op, path string) error {
		if slices.Contains(descriptors, op) && chance.IntN(30) == 0 {
			return syscall.EMFILE
		}
		return nil
	})
	want := states{"first": {"x"}}
	rng := rand.New(rand.NewPCG(seed, 2))
	for i := 1; i <= 200 || told.Load() < 3; i++ {
		change := put(numbered(fmt.Sprint("p", rng.IntN(60)), i))
		if rng.IntN(3) == 0 {
			change = store.Change{Delete: change.Put.ID}
		}
		_, err := l.Apply(t.Context(), []store.Change{change})
		want.set([]store.Change{change}, err != nil)
		if i == 20_000 {
			t.Fatalf("%d flushes and merges failed (seed %d)", told.Load(), seed)
		}
		if i%40 == 0 {
			if err := l.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.inject(nil)
	change := put(numbered("last", 1))
	apply(t, l, change)
	want.set([]store.Change{change}, false)
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	g := l.Collection().Acquire()
	got := contents(t, g)
	if err := want.compare(got); err != nil || g.Len() != len(got) {
		t.Fatalf("%d passages of %d ids, %v (seed %d)", g.Len(), len(got), err, seed)
	}
	g.Release()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
}
