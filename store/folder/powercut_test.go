package folder

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
)

var errCut = errors.New("the power is cut")

// TestPowerCuts runs a script of everything a writer does, cut before every
// single operation, and looks at what a disk that forgets has left: the last
// generation that was acknowledged, or the one that was being published, whole;
// and a collection that a writer can go on with.
func TestPowerCuts(t *testing.T) {
	t.Parallel()
	a, b := &hashEncoder{name: "a", dimension: 4}, &hashEncoder{name: "b", dimension: 4, parted: true}
	o := store.BuildOptions{Experts: []store.PassageEncoder{a}, Index: store.Index{Kind: "flat"}}
	both := store.BuildOptions{Experts: []store.PassageEncoder{a, b}, Index: store.Index{Kind: "flat"}}
	parts := split(1, randomPassages(1, 30), 3)
	step := func(d disk.Disk, dir string, do func(w *writer) error) error {
		w, err := openWriter(d, dir)
		if err != nil {
			return err
		}
		defer func() { _ = w.Close() }()
		return do(w)
	}
	script := []func(d disk.Disk, dir string) error{
		func(d disk.Disk, dir string) error {
			_, err := build(t.Context(), d, dir, of(parts[0]), o)
			return err
		},
		func(d disk.Disk, dir string) error {
			return step(d, dir, func(w *writer) error { _, err := w.add(t.Context(), of(parts[1]), o); return err })
		},
		func(d disk.Disk, dir string) error {
			return step(d, dir, func(w *writer) error { _, err := w.addExpert(t.Context(), b, o); return err })
		},
		func(d disk.Disk, dir string) error {
			return step(d, dir, func(w *writer) error { _, err := w.add(t.Context(), of(parts[2]), both); return err })
		},
		func(d disk.Disk, dir string) error {
			return step(d, dir, func(w *writer) error { return w.removeExpert(t.Context(), "b") })
		},
		func(d disk.Disk, dir string) error {
			return step(d, dir, func(w *writer) error {
				_, err := w.delete(t.Context(), []string{parts[0][0].ID, parts[1][0].ID, parts[1][1].ID})
				return err
			})
		},
		func(d disk.Disk, dir string) error {
			replacing := o
			replacing.Replace = true
			return step(d, dir, func(w *writer) error { _, err := w.add(t.Context(), of(parts[0]), replacing); return err })
		},
		func(d disk.Disk, dir string) error {
			return step(d, dir, func(w *writer) error {
				_, err := w.rebuildWords(t.Context(), phrased(), store.BuildOptions{})
				return err
			})
		},
	}
	want := []int{0, len(parts[0]), len(parts[0]) + len(parts[1]), len(parts[0]) + len(parts[1]), 30, 30, 27, 28, 28}
	looked := map[string]bool{}
	for cut := 1; ; cut++ {
		d := newForgetfulDisk(t, cut)
		root := memoryDir(t)
		dir := filepath.Join(root, "index")
		acknowledged := 0
		var err error
		for _, run := range script {
			err = run(d, dir)
			if err != nil {
				break
			}
			acknowledged++
		}
		if err != nil && !errors.Is(err, errCut) {
			t.Fatalf("cut before operation %d: %v", cut, err)
		}
		for name, left := range map[string]string{"forgotten": d.Forgotten(root), "emptied": d.emptied(root), "hasty": d.hasty(root), "kept": d.kept(root)} {
			key := fmt.Sprint(acknowledged, image(t, filepath.Join(left, "index")))
			if looked[key] {
				continue
			}
			looked[key] = true
			checkAfterCut(
				t,
				fmt.Sprintf("%s, cut before operation %d", name, cut),
				d,
				filepath.Join(left, "index"),
				acknowledged,
				want,
			)
		}
		d.letGo()
		if err == nil {
			t.Logf("%d operations, each cut once: %d different disks", cut-1, len(looked))
			if cut < 50 {
				t.Fatalf("only %d operations went through the disk", cut-1)
			}
			return
		}
	}
}

func checkAfterCut(t *testing.T, name string, d *forgetfulDisk, dir string, acknowledged int, want []int) {
	t.Helper()
	c, err := Open(dir)
	if acknowledged == 0 && err != nil {
		// No build was acknowledged: it must be possible to build.
		again := of([]corpus.Passage{{ID: "again", Text: "x"}})
		if _, err := Build(t.Context(), dir, again, store.BuildOptions{}); err != nil {
			t.Fatalf("%s: building again: %v\n%q", name, err, d.log)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: %v\n%q", name, err, d.log)
	}
	g := c.Acquire()
	generation := int(g.Number())
	if generation != acknowledged && generation != acknowledged+1 || g.Len() != want[generation] {
		t.Fatalf("%s: generation %d with %d passages, acknowledged was %d", name, generation, g.Len(), acknowledged)
	}
	if (g.Phrases() != nil) != (generation == len(want)-1) { // the last step's
		t.Fatalf("%s: generation %d has phrases: %v", name, generation, g.Phrases() != nil)
	}
	experts := make([]store.PassageEncoder, 0, 2)
	for _, x := range g.Experts() {
		experts = append(experts, &hashEncoder{name: x.Name, dimension: x.Dimension, parted: x.Parts, owner: x.Owner})
	}
	g.Release()
	_ = c.Close()
	if _, err := Verify(t.Context(), dir, nil); err != nil {
		t.Fatalf("%s: %v\n%q", name, err, d.log)
	}
	if _, err := Add(t.Context(), dir, of([]corpus.Passage{{ID: "again", Text: "x"}}),
		store.BuildOptions{Experts: experts}); err != nil {
		t.Fatalf("%s: adding: %v\n%q", name, err, d.log)
	}
	if _, err := Verify(t.Context(), dir, nil); err != nil {
		t.Fatalf("%s, after adding: %v\n%q", name, err, d.log)
	}
}
