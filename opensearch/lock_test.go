package opensearch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"conclave/collection"
	"conclave/corpus"
)

// halting is a source that waits before its second passage.
type halting struct {
	list
	reached, on chan struct{}
}

func (h *halting) Next() (corpus.Passage, error) {
	if h.at == 1 {
		close(h.reached)
		<-h.on
	}
	return h.list.Next()
}

// TestOneFillsAnIndex: while one process fills an index, another one that would do so, or
// add or remove an expert, is refused at once and told who is at it; afterwards it is not.
func TestOneFillsAnIndex(t *testing.T) {
	client := testClient(t)
	index := testIndex(t, client, "write-one")
	one := hashed{name: "one"}
	o := collection.BuildOptions{Experts: []collection.PassageEncoder{one}}
	source := &halting{list: list{passages: passages(1, 3)}, reached: make(chan struct{}), on: make(chan struct{})}
	var group, first sync.WaitGroup
	first.Go(func() {
		if _, err := Build(t.Context(), client, index, Shape{Shards: 1}, source, o, ""); err != nil {
			t.Error(err)
		}
	})
	<-source.reached
	host, _ := os.Hostname()
	for what, act := range map[string]func() error{
		"indexing": func() error {
			_, err := Build(t.Context(), client, index, Shape{Shards: 1}, &list{passages: passages(1, 3)}, o, "")
			return err
		},
		"adding": func() error {
			_, err := AddExpert(t.Context(), client, index, hashed{name: "two"}, o)
			return err
		},
		"removing": func() error { return RemoveExpert(t.Context(), client, index, "one") },
	} {
		group.Go(func() {
			err := act()
			var held *HeldError
			if !errors.As(err, &held) || !strings.Contains(err.Error(), fmt.Sprintf("indexing on host %s (process %d, since ", host, os.Getpid())) {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
	group.Wait()
	close(source.on)
	first.Wait()
	if report, err := Build(t.Context(), client, index, Shape{Shards: 1}, &list{passages: passages(1, 3)}, o, ""); err != nil || report.There != 3 {
		t.Errorf("afterwards: %+v, %v", report, err)
	}
}

// TestLockOfTheDead: the place of a holder without a sign of life is taken after a while,
// and not before; if it lives after all, its work ends, and it is told by whom.
func TestLockOfTheDead(t *testing.T) {
	client := testClient(t)
	index := testIndex(t, client, "write-lock")
	s := &Store{client: client, index: index, concrete: index, pause: time.Millisecond, beat: 100 * time.Millisecond}
	dead, err := s.take(t.Context(), indexLock, "the first", false)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	err = s.holding(t.Context(), indexLock, "the second", false, func(ctx context.Context) error {
		if waited := time.Since(begun); waited < missing*s.beat {
			t.Errorf("the lock was taken after %v", waited)
		}
		var lost *HeldError
		if err := dead.beat(ctx); !errors.As(err, &lost) || !lost.Lost || !strings.Contains(err.Error(), "the second") {
			t.Errorf("the first: %v", err)
		}
		if _, err := s.take(ctx, indexLock, "the third", false); !errors.As(err, &lost) || lost.Lost {
			t.Errorf("the third: %v", err)
		}
		_, version, err := dead.read(ctx) // as one who did not hear of the second
		if err == nil {
			_, _, err = dead.write(ctx, holder{Token: "another", Doing: "the fourth"}, version)
		}
		<-ctx.Done()
		return errors.Join(err, ctx.Err())
	})
	var lost *HeldError
	if !errors.As(err, &lost) || !lost.Lost || lost.by.Doing != "the fourth" {
		t.Errorf("%v", err)
	}

	// A process of this system that is gone is not waited for; one of elsewhere is.
	gone := exec.Command("true")
	if err := gone.Run(); err != nil || placeHere() == "" {
		t.Skip("this system does not tell:", err)
	}
	for place, want := range map[string]bool{placeHere(): true, "elsewhere": false} {
		_, version, err := dead.read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := dead.write(t.Context(), holder{Token: place, PID: gone.Process.Pid, Place: place}, version); err != nil {
			t.Fatal(err)
		}
		soon, cancel := context.WithTimeout(t.Context(), missing*s.beat*9/10)
		l, err := s.take(soon, indexLock, "the next", false)
		cancel()
		if (err == nil) != want {
			t.Errorf("the lock of a process that is gone, %s: %+v, %v", place, l, err)
		}
	}
}

// TestChangesOfMeta: of several who change what an index is at the same time, none undoes
// what another did.
func TestChangesOfMeta(t *testing.T) {
	client := testClient(t)
	index := testIndex(t, client, "write-meta")
	if _, err := Build(t.Context(), client, index, Shape{Shards: 1}, &list{passages: passages(1, 3)}, collection.BuildOptions{}, ""); err != nil {
		t.Fatal(err)
	}
	const hands, each = 3, 3
	var group sync.WaitGroup
	for range hands {
		group.Go(func() {
			store, err := Open(t.Context(), client, index)
			for range each {
				if err == nil {
					err = store.changeMeta(t.Context(), nil, func(about *meta) error { about.Manifest.Calibration += "x"; return nil })
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if store, err := Open(t.Context(), client, index); err != nil || store.Manifest().Calibration != strings.Repeat("x", hands*each) {
		t.Errorf("%d changes are %+v, %v", hands*each, store, err)
	}
}
