package folder

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

// reading asks a collection by n readers without pause, each as another process
// would, until stop is called, which says how many new generations they saw.
// They have opened it when reading returns, and look once more when they stop.
func reading(t *testing.T, dir string, n int, ask func(c *Collection) error) (stop func() int64) {
	var readers, open sync.WaitGroup
	done := make(chan struct{})
	var generations atomic.Int64
	read := func() error {
		c, err := Open(dir)
		open.Done()
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		for last := false; !last; {
			select {
			case <-done:
				last = true
			case <-time.After(time.Millisecond):
			}
			fresh, err := c.Reload(nil)
			if err != nil {
				return err
			}
			if fresh {
				generations.Add(1)
			}
			if err := ask(c); err != nil {
				return err
			}
		}
		return nil
	}
	open.Add(n)
	for range n {
		readers.Go(func() {
			if err := read(); err != nil {
				t.Error(err)
			}
		})
	}
	open.Wait()
	return func() int64 {
		close(done)
		readers.Wait()
		return generations.Load()
	}
}

// TestReadersBesideAWriter reads without pause while another goroutine adds
// segments and experts, as another process would.
func TestReadersBesideAWriter(t *testing.T) {
	a := &hashEncoder{name: "a", dimension: 8}
	o := store.BuildOptions{Experts: []store.PassageEncoder{a}}
	parts := split(1, randomPassages(1, 400), 6)
	dir := built(t, o, parts[0])
	stop := reading(t, dir, 3, func(c *Collection) error {
		g := c.Acquire()
		defer g.Release()
		hits, err := g.Words().Search(t.Context(), "word1 word2 word3", 20)
		if err != nil {
			return err
		}
		for _, h := range hits {
			if _, err := g.Passage(h.Ordinal); err != nil {
				return err
			}
		}
		v, _ := g.Expert("a")
		_, err = v.Search(t.Context(), a.vector("word1"), 20, false)
		return err
	})
	for _, part := range parts[1:] {
		if _, err := Add(t.Context(), dir, of(part), o); err != nil {
			t.Fatal(err)
		}
		b := &hashEncoder{name: "b", dimension: 4}
		if _, err := AddExpert(t.Context(), dir, b, store.BuildOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := RemoveExpert(t.Context(), dir, "b"); err != nil {
			t.Fatal(err)
		}
	}
	if stop() == 0 {
		t.Error("the readers saw one generation only")
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
	l := lively(t, disk.OS{}, dir, o)
	stop := reading(t, dir, 2, func(c *Collection) error { return askTagged(c, e) })
	for i := range 150 {
		change := put(numbered(fmt.Sprint("r", i%80), i+1))
		if i%4 == 3 {
			change = store.Change{Delete: fmt.Sprint("r", (i*7)%80)}
		}
		results := apply(t, l, change)
		if i%10 == 9 {
			if err := l.Wait(t.Context(), results[0].Seq); err != nil {
				t.Fatal(err)
			}
		}
	}
	if stop() == 0 {
		t.Error("the readers saw one generation only")
	}
}

// askTagged asks the newest generation of a collection for its tagged passages.
func askTagged(c *Collection, e *hashEncoder) error {
	g := c.Acquire()
	defer g.Release()
	ctx := context.Background()
	s, err := g.Select([]string{"numbered"}, nil)
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
