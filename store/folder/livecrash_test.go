package folder

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"example.org/conclave/store"
)

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
	groups := [][]store.Change{
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
		d.cutAt = d.N + cut
		d.mu.Unlock()
		acknowledged, begun, finished := livePowerScript(t, d, dir, o, groups)
		for name, left := range map[string]string{"forgotten": d.Forgotten(root), "emptied": d.emptied(root), "hasty": d.hasty(root), "kept": d.kept(root)} {
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
func livePowerScript(
	t *testing.T,
	d *forgetfulDisk,
	dir string,
	o LiveOptions,
	groups [][]store.Change,
) (acknowledged int, begun, finished bool) {
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

func checkAfterLiveCut(
	t *testing.T,
	name string,
	d *forgetfulDisk,
	dir string,
	base map[string]string,
	groups [][]store.Change,
	acknowledged int,
	begun bool,
) {
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
					texts[c.ID()] = c.Put.Text
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
