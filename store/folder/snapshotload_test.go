package folder

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
)

// numberedChange is a change that was acknowledged under a number.
type numberedChange struct {
	seq    uint64
	change store.Change
}

// TestSnapshotsUnderLoad takes snapshots one after the other while three writers
// write and segments are flushed and merged. Each one passes Verify, has every
// change that was acknowledged before it was asked for, and answers like a
// collection that was built at once from the first so many changes.
func TestSnapshotsUnderLoad(t *testing.T) {
	t.Parallel()
	e := &hashEncoder{name: "base", dimension: 8}
	first := randomPassages(60, 60)
	dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{e}}, first)
	l := lively(
		t,
		disk.OS{},
		dir,
		LiveOptions{
			Build:         store.BuildOptions{Experts: []store.PassageEncoder{e}},
			FlushAfter:    time.Millisecond,
			FlushPassages: 10,
			MaxPending:    40,
			Merge:         MergePolicy{Factor: 3, Smallest: 15},
			Failed:        func(err error) { t.Error(err) },
		},
	)
	var mu sync.Mutex
	var made []numberedChange
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for worker := range 3 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(61, uint64(worker)))
			for {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("p%d", 3*rng.IntN(40)+worker) // each worker has its own
				change := store.Change{Delete: id}
				if rng.IntN(3) > 0 {
					change = put(corpus.Passage{ID: id, Text: fmt.Sprintf("word%d word%d new", rng.IntN(20), rng.IntN(20))})
				}
				results, err := l.Apply(t.Context(), []store.Change{change})
				err = errors.Join(err, resultsError(results))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				made = append(made, numberedChange{results[0].Seq, change})
				mu.Unlock()
			}
		})
	}
	const snapshots = 8
	acknowledged := make([]uint64, snapshots)
	most := 0
	for i := range snapshots {
		for before, now := -1, 0; before < 0 || now < before+20; { // something is new in each
			mu.Lock()
			now = len(made)
			if before < 0 {
				before = now
			}
			for _, c := range made {
				acknowledged[i] = max(acknowledged[i], c.seq)
			}
			mu.Unlock()
			if t.Failed() {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if _, err := l.Snapshot(t.Context(), copyPath(dir, i), NewID()); err != nil {
			t.Fatalf("snapshot %d: %v", i, err)
		}
	}
	close(stop)
	writers.Wait()
	if err := l.Close(); err != nil { // also: the encoder is for one at a time
		t.Fatal(err)
	}
	generations := map[uint64]bool{}
	for i := range snapshots {
		name := fmt.Sprintf("snapshot %d", i)
		path := copyPath(dir, i)
		if _, err := Verify(t.Context(), path, nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m, err := readManifest(disk.OS{}, path)
		if err != nil || m.Applied < acknowledged[i] {
			t.Fatalf("%s has the changes up to %d, %d was acknowledged: %v", name, m.Applied, acknowledged[i], err)
		}
		most = max(most, len(m.Segments))
		generations[m.Generation] = true
		sameAnswers(t, name, opened(t, path), e, stateAfter(first, made, m.Applied))
	}
	if len(generations) < snapshots/2 || most < 2 {
		t.Errorf(
			"%d different generations of at most %d segments: too little happened between the snapshots",
			len(generations),
			most,
		)
	}
	t.Logf("%d changes, generations %v, at most %d segments", len(made), generations, most)
}

func copyPath(dir string, i int) string {
	return filepath.Join(filepath.Dir(dir), fmt.Sprintf("copy%d", i))
}

func resultsError(results []store.ChangeResult) (err error) {
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	return err
}

// stateAfter returns what passages are live after the changes up to a number. Changes
// of one id are in the order in which they were made.
func stateAfter(first []corpus.Passage, made []numberedChange, last uint64) map[string]corpus.Passage {
	live := keyed(first)
	for _, c := range made {
		switch {
		case c.seq > last:
		case c.change.Put == nil:
			delete(live, c.change.Delete)
		default:
			live[c.change.ID()] = *c.change.Put
		}
	}
	return live
}
