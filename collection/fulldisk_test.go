package collection

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"conclave/corpus"
	"conclave/rank"

	"golang.org/x/sys/unix"
)

// childConfinedLive changes a collection under a limit on the size of files,
// which is what a full disk looks like to a writer: first the segments do not
// fit, then not the log either. It says which changes were acknowledged.
func childConfinedLive(dir string) error {
	signal.Ignore(unix.SIGXFSZ)
	limit := unix.Rlimit{Cur: 6 << 10, Max: 6 << 10}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	o := crashOptions()
	var troubles atomic.Int64
	o.Failed = func(error) { troubles.Add(1) }
	l, err := OpenLive(dir, o)
	if err != nil {
		return err
	}
	refused := 0
	for i := 0; refused < 50 || troubles.Load() == 0; i++ {
		if i == 1_000_000 {
			return errors.New("neither segments nor the log ran into the limit")
		}
		id := fmt.Sprint("c", i%300)
		results, err := l.Apply(context.Background(), []Change{put(numbered(id, i+1))})
		if err == nil {
			err = results[0].Err
		}
		if err == nil {
			fmt.Printf("done %s %d\n", id, i+1)
			continue
		}
		if !strings.Contains(err.Error(), "file too large") {
			return fmt.Errorf("another error than was to be expected: %w", err)
		}
		refused++
		time.Sleep(time.Millisecond)
	}
	fmt.Printf("refused %d %d\n", refused, troubles.Load())
	_ = l.Close() // flushes that failed leave their changes in the log
	return nil
}

// TestLiveFullDisk: where neither segments nor the log can grow, changes are
// refused with a clear error, and those that were acknowledged are all there once
// there is room again.
func TestLiveFullDisk(t *testing.T) {
	t.Parallel()
	dir := built(t, crashOptions().Build, []corpus.Passage{{ID: "first", Text: "x"}})
	out, err := child(t, "confinedLive", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	state, refused := map[string]int{}, 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var word, id string
		var n int
		if _, err := fmt.Sscan(lines.Text(), &word, &id, &n); err != nil {
			t.Fatalf("%v in %q", err, lines.Text())
		}
		if word == "refused" {
			refused++
		} else {
			state[id] = n
		}
	}
	if refused != 1 || len(state) < 10 {
		t.Fatalf("%d changes acknowledged: %s", len(state), out)
	}
	checkAfterKill(t, 0, dir, state, map[string]int{})
	if _, err := Verify(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
}

// meteredDisk is the real disk, which beside it measures how much is used: the
// sizes of all files in the collection's folder, whenever something changes, and
// claims that so much is free.
type meteredDisk struct {
	osDisk
	dir  string
	free atomic.Int64

	mu    sync.Mutex
	named map[uint64]int64 // bytes of the files that each generation names
	most  float64          // of what is used, as a multiple of what it names, or the two before it
}

func (d *meteredDisk) Free(string) (int64, bool) { return d.free.Load(), true }

func (d *meteredDisk) SyncDir(path string) error {
	d.measure()
	return d.osDisk.SyncDir(path)
}

func (d *meteredDisk) Rename(from, to string) error {
	d.measure()
	return d.osDisk.Rename(from, to)
}

func (d *meteredDisk) RemoveAll(path string) error {
	d.measure()
	return d.osDisk.RemoveAll(path)
}

func (d *meteredDisk) measure() {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, err := readManifest(d.dir)
	if err != nil {
		return
	}
	named, used := int64(0), int64(0)
	for i := range m.Segments {
		for _, f := range m.Segments[i].files() {
			named += f.Size
		}
	}
	_ = filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && filepath.Dir(path) != filepath.Join(d.dir, logFolder) {
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
		var changes []Change
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
	if err := l.await(t.Context(), func() bool { return l.options.Merge.choose(l.writer.snapshot().Segments) == nil }); err != nil {
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
	if err := <-failed; !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), "100 are") {
		t.Fatal(err)
	}
	if b := l.Backlog(); b.Segments != 7 || !errors.Is(b.Trouble, ErrNoRoom) {
		t.Fatalf("%+v", b)
	}
	d.free.Store(1 << 40)
	grow(t, l, 60, 10)
	if err := l.await(t.Context(), func() bool { return l.mergeTrouble == nil && len(l.writer.snapshot().Segments) < 7 }); err != nil {
		t.Fatal(err)
	}
	g := l.Collection().Acquire()
	defer g.Release()
	if n := len(contents(t, g)); n != 71 {
		t.Errorf("%d passages", n)
	}
}

// TestReadersBesideLive: collections opened by others, as other processes do,
// while this one is changed, flushed and merged without pause: every hit can be
// read, has the tag that was asked for, and is found once.
func TestReadersBesideLive(t *testing.T) {
	t.Parallel()
	o := crashOptions()
	e := o.Build.Experts[0].(*hashEncoder)
	dir := built(t, o.Build, randomPassages(71, 100))
	l := lively(t, osDisk{}, dir, o)
	var readers sync.WaitGroup
	done := make(chan struct{})
	var generations atomic.Int64
	for range 2 {
		readers.Go(func() {
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
				fresh, err := c.Reload()
				if err != nil {
					t.Error(err)
					return
				}
				if fresh {
					generations.Add(1)
				}
				if err := askOnce(c, e); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 150 {
		change := put(numbered(fmt.Sprint("r", i%80), i+1))
		if i%4 == 3 {
			change = Change{Delete: fmt.Sprint("r", (i*7)%80)}
		}
		results := apply(t, l, change)
		if i%10 == 9 {
			if err := l.Wait(t.Context(), results[0].Seq); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(done)
	readers.Wait()
	if generations.Load() == 0 {
		t.Error("the readers saw one generation only")
	}
}

// askOnce asks the newest generation of a collection for its tagged passages.
func askOnce(c *Collection, e *hashEncoder) error {
	g := c.Acquire()
	defer g.Release()
	ctx := context.Background()
	s, err := g.Select(ctx, []string{"numbered"}, nil)
	if err != nil {
		return err
	}
	words, err := g.Words().Among(s).Search(ctx, "text word1", 50)
	if err != nil {
		return err
	}
	v, _ := g.Expert(e.name)
	vectors, err := v.Among(s).Search(ctx, e.vector("text word1"), 50, false)
	if err != nil {
		return err
	}
	for _, hits := range [][]rank.Hit{words, vectors} {
		seen := map[string]bool{}
		for _, h := range hits {
			p, err := g.Passage(h.Ordinal)
			if err != nil {
				return err
			}
			if seen[p.ID] || len(p.Tags) != 2 {
				return fmt.Errorf("generation %d found %+v", g.Number(), p)
			}
			seen[p.ID] = true
		}
	}
	if len(vectors) != min(50, s.Len()) {
		return fmt.Errorf("%d hits among %d passages", len(vectors), s.Len())
	}
	return nil
}
