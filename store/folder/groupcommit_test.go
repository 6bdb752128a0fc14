package folder

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
)

// slowSyncs is the real disk, but that the first sync of a log takes until it is
// let go. It counts them.
type slowSyncs struct {
	disk.OS
	syncs atomic.Int32
	began chan struct{} // closed when the first one began
	let   chan struct{} // closed to let it go
}

func (d *slowSyncs) Create(path string) (disk.File, error) {
	file, err := d.OS.Create(path)
	return &slowLog{file, d}, err
}

type slowLog struct {
	disk.File
	disk *slowSyncs
}

func (f *slowLog) Sync() error {
	if f.disk.syncs.Add(1) == 1 {
		close(f.disk.began)
		<-f.disk.let
	}
	return f.File.Sync()
}

// TestGroupCommit: changes that come while the disk is busy share the next sync,
// and none of them is acknowledged before it.
func TestGroupCommit(t *testing.T) {
	const together = 60
	dir := built(t, store.BuildOptions{}, []corpus.Passage{{ID: "first", Text: "x"}})
	d := &slowSyncs{began: make(chan struct{}), let: make(chan struct{})}
	l := lively(t, d, dir, LiveOptions{FlushAfter: time.Hour, Merge: MergePolicy{Off: true}})
	acknowledged := make(chan error, together+1)
	write := func(i int) {
		results, err := l.Apply(t.Context(), []store.Change{put(numbered(fmt.Sprint("p", i), i))})
		if err == nil && (results[0].Err != nil || results[0].Outcome != store.Created) {
			err = fmt.Errorf("%+v", results[0])
		}
		acknowledged <- err
	}
	go write(0)
	<-d.began
	for i := range together {
		go write(1 + i)
	}
	for len(l.requests) < together { // all of them wait for the committer
		time.Sleep(time.Millisecond)
	}
	if n := len(acknowledged); n > 0 {
		t.Errorf("%d changes were acknowledged before any sync was through", n)
	}
	close(d.let)
	for range together + 1 {
		if err := <-acknowledged; err != nil {
			t.Error(err)
		}
	}
	if n := d.syncs.Load(); n > 3 {
		t.Errorf("%d changes that came while one was synced took %d syncs", together, n-1)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if report, err := Verify(t.Context(), dir, nil); err != nil || report.Pending != together+1 {
		t.Fatalf("%+v, %v", report, err)
	}
}
