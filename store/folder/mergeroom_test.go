package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/wal"
)

// meteredDisk is the real disk, which beside it measures how much is used: the
// sizes of all files in the collection's folder, whenever something changes, and
// claims that so much is free.
type meteredDisk struct {
	disk.OS
	dir  string
	free atomic.Int64

	mu    sync.Mutex
	named map[uint64]int64 // bytes of the files that each generation names
	most  float64          // of what is used, as a multiple of what it names, or the two before it
}

func (d *meteredDisk) Free(string) (int64, bool) { return d.free.Load(), true }

func (d *meteredDisk) SyncDir(path string) error {
	d.measure()
	return d.OS.SyncDir(path)
}

func (d *meteredDisk) Rename(from, to string) error {
	d.measure()
	return d.OS.Rename(from, to)
}

func (d *meteredDisk) RemoveAll(path string) error {
	d.measure()
	return d.OS.RemoveAll(path)
}

func (d *meteredDisk) measure() {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, err := readManifest(disk.OS{}, d.dir)
	if err != nil {
		return
	}
	named, used := int64(0), int64(0)
	for i := range m.Segments {
		for _, f := range m.Segments[i].Files() {
			named += f.Size
		}
	}
	_ = filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && filepath.Dir(path) != filepath.Join(d.dir, wal.Folder) {
			if info, err := e.Info(); err == nil {
				used += info.Size()
			}
		}
		return nil
	})
	if d.named == nil {
		d.named = map[uint64]int64{}
	}
	d.named[m.Generation] = named
	// What a generation replaced is removed after it was published.
	d.most = max(d.most, float64(used)/float64(max(named, d.named[m.Generation-1], d.named[m.Generation-2])))
}

// grow applies n changes in flushes of ten.
func grow(t *testing.T, l *Live, from, n int) {
	t.Helper()
	for i := from; i < from+n; i += 10 {
		var changes []store.Change
		for j := range 10 {
			changes = append(changes, put(numbered(fmt.Sprint("g", i+j), i+j)))
		}
		apply(t, l, changes...)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMergesNeedBoundedDisk: while a collection grows by flushes and merges, it
// never takes more than a little over twice what its segments have; in the end
// only what they have.
func TestMergesNeedBoundedDisk(t *testing.T) {
	t.Parallel()
	o := crashOptions()
	o.FlushAfter = time.Hour
	dir := built(t, o.Build, randomPassages(70, 200))
	d := &meteredDisk{dir: dir}
	d.free.Store(1 << 40)
	l := lively(t, d, dir, o)
	grow(t, l, 0, 600)
	merged := func() bool { return l.options.Merge.choose(l.writer.snapshot().Segments) == nil }
	if err := l.await(t.Context(), merged); err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	most := d.most
	d.mu.Unlock()
	t.Logf("at most %.2f times the segments' size was on the disk", most)
	if most > 2.2 || most <= 1 {
		t.Errorf("%.2f times the segments' size was on the disk", most)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	d.most, d.named = 0, nil
	d.mu.Unlock()
	d.measure()
	if d.most > 1.2 { // the manifest, the lock
		t.Errorf("%.2f times the segments' size is left", d.most)
	}
}

// TestMergesWaitForRoom: with too little free disk segments are not merged,
// which is told, and everything else goes on; with room they are.
func TestMergesWaitForRoom(t *testing.T) {
	t.Parallel()
	o := crashOptions()
	o.FlushAfter = time.Hour
	dir := built(t, o.Build, []corpus.Passage{{ID: "first", Text: "x"}})
	d := &meteredDisk{dir: dir}
	d.free.Store(100)
	failed := make(chan error, 100)
	o.Failed = func(err error) { failed <- err }
	l := lively(t, d, dir, o)
	grow(t, l, 0, 60)
	if err := <-failed; !errors.Is(err, errNoRoom) || !strings.Contains(err.Error(), "100 are") {
		t.Fatal(err)
	}
	if b := l.Backlog(); b.Segments != 7 || !errors.Is(b.Trouble, errNoRoom) {
		t.Fatalf("%+v", b)
	}
	d.free.Store(1 << 40)
	grow(t, l, 60, 10)
	if err := l.await(t.Context(), func() bool {
		return l.mergeTrouble == nil &&
			len(l.writer.snapshot().Segments) < 7
	}); err != nil {
		t.Fatal(err)
	}
	g := l.Collection().Acquire()
	defer g.Release()
	if n := len(contents(t, g)); n != 71 {
		t.Errorf("%d passages", n)
	}
}
