package collection

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"conclave/corpus"
	"conclave/disk"
)

// crashOptions flush and merge all the time.
func crashOptions() LiveOptions {
	return LiveOptions{
		Build:      BuildOptions{Experts: []PassageEncoder{&hashEncoder{name: "a", dimension: 4}}, Index: Index{Kind: "flat"}},
		FlushAfter: 2 * time.Millisecond, FlushPassages: 10, Merge: MergePolicy{Factor: 3, Smallest: 10},
	}
}

func numbered(id string, n int) corpus.Passage {
	return corpus.Passage{ID: id, Text: fmt.Sprintf("text number%d word%d", n, n%7), Tags: []string{fmt.Sprint("third", n%3), "numbered"}}
}

// childLive changes a collection from several goroutines for ever. It says of
// each change that it begins it, and that it was acknowledged: "id number" for
// a put, "id 0" for a deletion.
func childLive(dir string) error {
	l, err := OpenLive(dir, crashOptions())
	if err != nil {
		return err
	}
	failed := make(chan error)
	for worker := range 3 {
		go func() {
			rng := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(worker)))
			for {
				id := fmt.Sprintf("w%d-%d", worker, rng.IntN(30))
				n, change := 1+rng.IntN(1000000), Change{Delete: id}
				if rng.IntN(3) == 0 {
					n = 0
				} else {
					change = put(numbered(id, n))
				}
				fmt.Printf("begin %s %d\n", id, n)
				results, err := l.Apply(context.Background(), []Change{change})
				if err == nil {
					err = results[0].Err
				}
				if err != nil {
					failed <- err
					return
				}
				fmt.Printf("done %s %d\n", id, n)
				if rng.IntN(20) == 0 {
					if err := l.Wait(context.Background(), results[0].Seq); err != nil {
						failed <- err
						return
					}
				}
			}
		}()
	}
	return <-failed
}

// TestLiveKilled kills a child under write load at random instants. After each
// kill every acknowledged passage is there, no deleted one is, and Verify
// passes.
func TestLiveKilled(t *testing.T) {
	t.Parallel()
	kills := 10
	if n, err := strconv.Atoi(os.Getenv("CONCLAVE_TEST_KILLS")); err == nil {
		kills = n
	}
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 6))
	dir := built(t, crashOptions().Build, []corpus.Passage{{ID: "first", Text: "x"}})
	state, begun := map[string]int{}, map[string]int{} // id to number, 0 is deleted
	acknowledged, undecided := 0, 0
	for kill := range kills {
		cmd := child(t, "live", dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		fate := newFate(rng, cmd, kill, 8+rng.IntN(80))
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fate.line()
			var word, id string
			var n int
			if _, err := fmt.Sscan(lines.Text(), &word, &id, &n); err != nil {
				if strings.HasPrefix(lines.Text(), "error") {
					t.Fatalf("kill %d: the child says %q", kill, lines.Text())
				}
				break // cut off by the kill
			}
			if word == "begin" {
				begun[id] = n
			} else {
				state[id] = n
				delete(begun, id)
				acknowledged++
			}
		}
		err = cmd.Wait()
		fate.end()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
			t.Fatalf("kill %d: the child ended by itself: %v", kill, err)
		}
		undecided += len(begun)
		checkAfterKill(t, kill, dir, state, begun)
	}
	m, err := readManifest(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d kills (seed %d): %d changes acknowledged, %d begun when killed, generation %d, %d segments", kills, seed, acknowledged, undecided, m.Generation, len(m.Segments))
	if acknowledged < kills || m.Generation < uint64(kills)/2 {
		t.Errorf("only %d changes were acknowledged in %d generations", acknowledged, m.Generation)
	}
}

// checkAfterKill compares a collection with what was acknowledged. What was
// begun may be there or not, and is settled from then on.
func checkAfterKill(t *testing.T, kill int, dir string, state, begun map[string]int) {
	t.Helper()
	if _, err := Verify(t.Context(), dir, nil); err != nil {
		t.Fatalf("kill %d: %v", kill, err)
	}
	o := crashOptions()
	o.FlushAfter, o.Merge.Off = time.Hour, true
	l, err := OpenLive(dir, o)
	if err != nil {
		t.Fatalf("kill %d: %v", kill, err)
	}
	defer func() { _ = l.Close() }()
	settled := 0
	check := func(id string, n int) {
		p, _, ok, err := l.Passage(id)
		if err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		is := func(n int) bool { return !ok && n == 0 || ok && n != 0 && p.Text == numbered(id, n).Text }
		other, undecided := begun[id]
		if undecided && is(other) {
			state[id] = other
			settled++
			return
		}
		if !is(n) {
			t.Fatalf("kill %d: %s is %+v (%v), acknowledged was %d, begun %v %d", kill, id, p, ok, n, undecided, other)
		}
	}
	for id := range begun {
		if _, ok := state[id]; !ok {
			state[id] = 0
		}
	}
	for id, n := range state {
		check(id, n)
	}
	clear(begun)
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, n := range state { // now from segments
		check(id, n)
	}
	g := l.Collection().Acquire()
	defer g.Release()
	live := 1 // "first"
	for _, n := range state {
		if n != 0 {
			live++
		}
	}
	if got := contents(t, g); len(got) != live || g.Len() != live {
		t.Fatalf("kill %d: %d passages are live, %d should be", kill, len(got), live)
	}
}

// TestLivePowerCuts runs a script of changes, flushes and merges, cut before
// every operation on the disk.
func TestLivePowerCuts(t *testing.T) {
	t.Parallel()
	base := randomPassages(1, 12)
	o := LiveOptions{Build: crashOptions().Build, FlushAfter: time.Hour, Merge: MergePolicy{Off: true}}
	texts := map[string]string{}
	for _, p := range base {
		texts[p.ID] = p.Text
	}
	groups := [][]Change{
		{put(numbered("a", 1)), put(numbered("b", 2)), {Delete: "p1"}},
		{put(numbered("p2", 3)), {Delete: "a"}},
		nil, // flush
		{put(numbered("c", 4))},
		{{Delete: "b"}, put(numbered("p1", 5))},
		nil,
		{}, // merge
		{put(numbered("d", 6)), {Delete: "p3"}},
		nil,
		{put(numbered("d", 7))},
	}
	looked := map[string]bool{}
	for cut := 1; ; cut++ {
		d := newForgetfulDisk(t, 1<<30)
		root := memoryDir(t)
		dir := filepath.Join(root, "index")
		if _, err := build(t.Context(), d, dir, of(base), o.Build); err != nil {
			t.Fatal(err)
		}
		d.mu.Lock()
		d.cutAt = d.n + cut
		d.mu.Unlock()
		acknowledged, begun, finished := livePowerScript(t, d, dir, o, groups)
		for name, left := range map[string]string{"forgotten": d.forgotten(root), "emptied": d.emptied(root), "hasty": d.hasty(root), "kept": d.kept(root)} {
			key := fmt.Sprint(acknowledged, begun, image(t, filepath.Join(left, "index")))
			if looked[key] {
				continue
			}
			looked[key] = true
			name = fmt.Sprintf("%s, cut before operation %d, %d groups acknowledged", name, cut, acknowledged)
			checkAfterLiveCut(t, name, d, filepath.Join(left, "index"), texts, groups, acknowledged, begun)
		}
		d.letGo()
		if finished {
			t.Logf("%d operations, each cut once: %d different disks", cut-1, len(looked))
			if cut < 50 {
				t.Fatalf("only %d operations went through the disk", cut-1)
			}
			return
		}
	}
}

// livePowerScript applies groups; nil is a flush and an empty one a merge. It
// says how many were acknowledged and whether another one was begun.
func livePowerScript(t *testing.T, d *forgetfulDisk, dir string, o LiveOptions, groups [][]Change) (acknowledged int, begun, finished bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Failed = func(error) { cancel() } // else a flush is tried again for ever
	l, err := openLive(d, dir, o)
	if err != nil {
		return 0, false, false
	}
	defer func() { _ = l.Close() }()
	for _, group := range groups {
		switch {
		case group == nil:
			err = l.Flush(ctx)
		case len(group) == 0:
			err = l.merge(ctx, segmentNames(l.writer))
		default:
			_, err = l.Apply(ctx, group)
			begun = err != nil
		}
		if err != nil {
			if !errors.Is(err, errCut) && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			return acknowledged, begun, false
		}
		acknowledged++
	}
	return acknowledged, false, l.Close() == nil
}

func checkAfterLiveCut(t *testing.T, name string, d *forgetfulDisk, dir string, base map[string]string, groups [][]Change, acknowledged int, begun bool) {
	t.Helper()
	if _, err := Verify(t.Context(), dir, nil); err != nil {
		t.Fatalf("%s: %v\n%q", name, err, d.log)
	}
	l, err := OpenLive(dir, LiveOptions{Build: crashOptions().Build, FlushAfter: time.Hour, Merge: MergePolicy{Off: true}})
	if err != nil {
		t.Fatalf("%s: %v\n%q", name, err, d.log)
	}
	defer func() { _ = l.Close() }()
	if err := l.Flush(t.Context()); err != nil {
		t.Fatalf("%s: %v\n%q", name, err, d.log)
	}
	g := l.Collection().Acquire()
	defer g.Release()
	got := map[string]string{}
	for id, p := range contents(t, g) {
		got[id] = p.Text
	}
	state := func(n int) string {
		texts := map[string]string{}
		for id, text := range base {
			texts[id] = text
		}
		for _, group := range groups[:n] {
			for _, c := range group {
				if c.Put == nil {
					delete(texts, c.Delete)
				} else {
					texts[c.id()] = c.Put.Text
				}
			}
		}
		return fmt.Sprint(texts)
	}
	if fmt.Sprint(got) != state(acknowledged) && !(begun && fmt.Sprint(got) == state(acknowledged+1)) {
		t.Fatalf("%s:\ngot  %v\nwant %v\n%q", name, got, state(acknowledged), d.log)
	}
	if _, err := Verify(t.Context(), dir, nil); err != nil {
		t.Fatalf("%s, after going on: %v\n%q", name, err, d.log)
	}
}
