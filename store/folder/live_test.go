package folder

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

func put(p corpus.Passage) store.Change { return store.Change{Put: &p} }

// lively opens a live collection, until the test ends.
func lively(t testing.TB, d disk.Disk, dir string, o LiveOptions) *Live {
	t.Helper()
	l, err := openLive(d, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func apply(t testing.TB, l *Live, changes ...store.Change) []store.ChangeResult {
	t.Helper()
	results, err := l.Apply(t.Context(), changes)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// contents returns the live passages of a generation by id. On the way it makes sure
// that each tag selects those that have it.
func contents(t testing.TB, g *Generation) map[string]corpus.Passage {
	t.Helper()
	out, tagged := map[string]corpus.Passage{}, map[string]int{"nobody's": 0}
	defer func() {
		for _, p := range out {
			for _, tag := range p.Tags {
				tagged[tag]++
			}
		}
		for tag, want := range tagged {
			if s, err := g.Select([]string{tag}, nil); err != nil || s.Len() != want {
				t.Fatalf("%q selects %d passages, %v, want %d", tag, s.Len(), err, want)
			}
		}
	}()
	for _, s := range g.segments {
		for o := range s.store.Len() {
			if p, err := g.Passage(s.base + rank.Ordinal(o)); err == nil {
				out[p.ID] = p
			}
		}
	}
	return out
}

// TestLive changes a collection from several goroutines at random, while it
// flushes and merges, and compares it now and then, also after opening it
// anew, with one that was built at once.
func TestLive(t *testing.T) {
	e := &hashEncoder{name: "base", dimension: 8}
	first := randomPassages(40, 60)
	dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{e}}, first)
	o := LiveOptions{
		Build:         store.BuildOptions{Experts: []store.PassageEncoder{e}},
		FlushAfter:    5 * time.Millisecond,
		FlushPassages: 15,
		Merge:         MergePolicy{Factor: 3, Smallest: 20},
		Failed:        func(err error) { t.Error(err) },
	}
	var mu sync.Mutex
	live := keyed(first)
	most := 0
	for round := range 3 {
		l := lively(t, disk.OS{}, dir, o)
		var wg sync.WaitGroup
		for worker := range 3 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(round), uint64(worker)))
				for range 25 {
					var changes []store.Change
					for range 1 + rng.IntN(4) {
						id := fmt.Sprintf("p%d", 3*rng.IntN(40)+worker) // each worker has its own
						if rng.IntN(3) == 0 {
							changes = append(changes, store.Change{Delete: id})
						} else {
							changes = append(changes, put(corpus.Passage{ID: id,
								Text: fmt.Sprintf("word%d word%d new", rng.IntN(20), rng.IntN(20))}))
						}
					}
					results, err := l.Apply(t.Context(), changes)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for i, c := range changes {
						r := results[i]
						_, was := live[c.ID()]
						if r.Err != nil || r.ID != c.ID() || (r.Outcome == store.Created || r.Outcome == store.Absent) == was {
							t.Errorf("%+v for %s, which was there: %v", r, c.ID(), was)
						}
						if c.Put == nil {
							delete(live, c.ID())
						} else {
							live[c.ID()] = *c.Put
						}
					}
					mu.Unlock()
					// What was acknowledged is read back at once, flushed or not.
					p, version, ok, err := l.Passage(t.Context(), changes[0].ID(), anyRoom)
					mu.Lock()
					want, is := live[changes[0].ID()]
					mu.Unlock()
					if err != nil || ok != is || is && (p.Text != want.Text || version != want.Version()) {
						t.Errorf("%s reads as %+v, %v, %v, want %+v", changes[0].ID(), p, ok, err, want)
					}
				}
			})
		}
		wg.Wait()
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		g := l.Collection().Acquire()
		sameAnswers(t, fmt.Sprintf("round %d", round), g, e, live)
		most = max(most, g.Segments())
		g.Release()
		if b := l.Backlog(); b.Changes != 0 || b.Trouble != nil {
			t.Fatalf("%+v", b)
		}
		// Left in the log for the next round.
		apply(t, l, put(corpus.Passage{ID: fmt.Sprint("late", round), Text: "late"}))
		live[fmt.Sprint("late", round)] = corpus.Passage{ID: fmt.Sprint("late", round), Text: "late"}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Apply(t.Context(), []store.Change{{Delete: "x"}}); !errors.Is(err, store.ErrClosed) {
			t.Fatalf("Apply after Close: %v", err)
		}
		if report, err := Verify(t.Context(), dir, nil); err != nil {
			t.Fatalf("%+v, %v", report, err)
		}
	}
	if m, err := readManifest(disk.OS{}, dir); err != nil || m.Generation < 20 || len(m.Segments) > 12 {
		t.Errorf("generation %d with %d segments: was nothing merged? %v", m.Generation, len(m.Segments), err)
	}
	t.Logf("at most %d segments when flushed", most)
}

// TestConditions has what versions are for.
func TestConditions(t *testing.T) {
	dir := built(t, store.BuildOptions{}, []corpus.Passage{{ID: "a", Text: "one"}})
	l := lively(t, disk.OS{}, dir, LiveOptions{FlushAfter: time.Hour})
	one, two := corpus.Passage{ID: "a", Text: "one"}, corpus.Passage{ID: "a", Text: "two"}
	v1, v2 := one.Version(), two.Version()
	if _, version, ok, err := l.Passage(t.Context(), "a", anyRoom); err != nil || !ok || version != v1 {
		t.Fatalf("version %s, %v, %v, want %s", version, ok, err, v1)
	}
	for i, c := range []struct {
		change   store.Change
		Outcome  store.Outcome
		conflict string
	}{
		{put(one), store.Unchanged, ""},
		{store.Change{Put: &two, IfMatch: v2}, "", v1},
		{store.Change{Put: &two, IfAbsent: true}, "", v1},
		{store.Change{Put: &two, IfMatch: v1}, store.Replaced, ""},
		{store.Change{Put: &one, IfMatch: v1}, "", v2},
		{store.Change{Delete: "a", IfMatch: v1}, "", v2},
		{put(two), store.Unchanged, ""},
		{store.Change{Delete: "a", IfMatch: v2}, store.Deleted, ""},
		{store.Change{Delete: "a"}, store.Absent, ""},
		{store.Change{Delete: "a", IfMatch: "*"}, "", "none"},
		{store.Change{Put: &one, IfMatch: v1}, "", "none"},
		{store.Change{Put: &one, IfAbsent: true}, store.Created, ""},
		{store.Change{Put: &two, IfMatch: "*"}, store.Replaced, ""},
		{put(corpus.Passage{ID: "b"}), "", "field"},
	} {
		if i%2 == 0 { // half of it against segments, half against the log
			if err := l.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		r := apply(t, l, c.change)[0]
		var conflict *store.VersionError
		var field *corpus.FieldError
		switch {
		case c.conflict == "field":
			if !errors.As(r.Err, &field) {
				t.Errorf("%d: %+v", i, r)
			}
		case c.conflict != "":
			if !errors.As(r.Err, &conflict) || conflict.Have != strings.TrimPrefix(c.conflict, "none") {
				t.Errorf("%d: %+v, want a conflict with %s", i, r, c.conflict)
			}
		case r.Err != nil || r.Outcome != c.Outcome:
			t.Errorf("%d: %+v, want %s", i, r, c.Outcome)
		}
	}
	// One group sees its own changes.
	results := apply(t, l, put(one), store.Change{Put: &two, IfMatch: v1}, store.Change{Delete: "a", IfMatch: v2}, store.Change{Delete: "a"})
	for i, want := range []store.Outcome{store.Replaced, store.Replaced, store.Deleted, store.Absent} {
		if results[i].Outcome != want || results[i].Err != nil {
			t.Errorf("in one group, %d: %+v, want %s", i, results[i], want)
		}
	}
}

// TestVisibility: searches see a change after Wait and not before a flush; the
// backlog is shown; a full backlog makes Apply wait.
func TestVisibility(t *testing.T) {
	gate := make(chan struct{})
	e := &hashEncoder{name: "base", dimension: 4, fail: func(int) error { <-gate; return nil }}
	go func() { gate <- struct{}{} }()
	dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{e}}, []corpus.Passage{{ID: "a", Text: "one"}})
	l := lively(
		t,
		disk.OS{},
		dir,
		LiveOptions{Build: store.BuildOptions{Experts: []store.PassageEncoder{e}}, FlushAfter: time.Hour, MaxPending: 3},
	)
	seen := func() int {
		g := l.Collection().Acquire()
		defer g.Release()
		return g.Len()
	}
	var last uint64
	for i := range 3 {
		last = apply(t, l, put(corpus.Passage{ID: fmt.Sprint(i), Text: "x"}))[0].Seq
	}
	if b := l.Backlog(); b.Changes != 3 || b.LogBytes == 0 || b.Segments != 1 || seen() != 1 {
		t.Fatalf("%+v, %d passages seen", b, seen())
	}
	full, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := l.Apply(full, []store.Change{{Delete: "a"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Apply with a full backlog: %v", err)
	}
	waited := make(chan error)
	go func() { waited <- l.Wait(t.Context(), last) }()
	select {
	case err := <-waited:
		t.Fatalf("Wait returned %v before anything was encoded", err)
	case gate <- struct{}{}:
	}
	if err := <-waited; err != nil || seen() != 4 || l.Backlog().Changes != 0 {
		t.Fatalf("%v, %d passages seen, %+v", err, seen(), l.Backlog())
	}
	close(gate)
}

// TestTrouble: a flush that fails loses nothing, is told, and is tried again.
func TestTrouble(t *testing.T) {
	t.Parallel()
	broken := true
	var mu sync.Mutex
	e := &hashEncoder{name: "base", dimension: 4, fail: func(int) error {
		mu.Lock()
		defer mu.Unlock()
		if broken {
			return errTest
		}
		return nil
	}}
	broken = false
	dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{e}}, []corpus.Passage{{ID: "a", Text: "one"}})
	broken = true
	failed := make(chan error, 10)
	l := lively(
		t,
		disk.OS{},
		dir,
		LiveOptions{
			Build:      store.BuildOptions{Experts: []store.PassageEncoder{e}},
			FlushAfter: time.Millisecond,
			Failed:     func(err error) { failed <- err },
		},
	)
	apply(t, l, put(corpus.Passage{ID: "b", Text: "x"}))
	if err := <-failed; !errors.Is(err, errTest) {
		t.Fatal(err)
	}
	if err := l.await(t.Context(), func() bool { return l.flushTrouble != nil || broken }); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	broken = false
	mu.Unlock()
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.await(t.Context(), func() bool { return l.applied == 1 }); err != nil ||
		len(tree(t, filepath.Join(dir, "seg-000001"))) != 8 {
		t.Fatal(err)
	}
}

// TestLogFirst: what a log holds must come into segments before anything is
// added or deleted beside it.
func TestLogFirst(t *testing.T) {
	dir := built(t, store.BuildOptions{}, randomPassages(1, 30))
	l := lively(t, disk.OS{}, dir, LiveOptions{FlushAfter: time.Hour})
	apply(t, l, put(corpus.Passage{ID: "x", Text: "new"}))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Add(t.Context(), dir, of([]corpus.Passage{{ID: "y", Text: "y"}}), store.BuildOptions{}); !errors.Is(
		err, errPending,
	) {
		t.Fatalf("Add: %v", err)
	}
	if _, err := Delete(t.Context(), dir, []string{"p1"}); !errors.Is(err, errPending) {
		t.Fatalf("Delete: %v", err)
	}
	if report, err := Verify(t.Context(), dir, nil); err != nil || report.Pending != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
}

// anyRoom has room for a passage of any size.
func anyRoom(int) error { return nil }

// TestFlushAfterAnotherShowed: a flush whose generation a merge has shown first, which has not yet forgotten the
// changes in it, takes none of them a second time: their log may be gone, and later ones would come before them.
func TestFlushAfterAnotherShowed(t *testing.T) {
	t.Parallel()
	dir := built(t, store.BuildOptions{}, randomPassages(3, 1))
	l := lively(t, disk.OS{}, dir, LiveOptions{FlushAfter: time.Hour, FlushPassages: 1000})
	apply(t, l, put(corpus.Passage{ID: "new", Text: "the fox"}))
	l.mu.Lock()
	changes, last := l.pending.oldest(1000)
	l.mu.Unlock()
	if err := l.writer.flush(t.Context(), changes, last, nil, l.options.Build); err != nil {
		t.Fatal(err)
	}
	if !l.collection.replace(l.writer.pinned(), func(*Generation) {}) {
		t.Fatal("not shown")
	}
	l.show(t.Context())
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.pending.queue); n > 0 || l.applied != last {
		t.Errorf("%d changes would be applied again, %d is applied of %d", n, l.applied, last)
	}
}
