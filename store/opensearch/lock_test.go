package opensearch

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/jobs/lease"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/schema"
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
	o := store.BuildOptions{Experts: []store.PassageEncoder{one}}
	source := &halting{list: list{passages: passages(1, 3)}, reached: make(chan struct{}), on: make(chan struct{})}
	var group, first sync.WaitGroup
	first.Go(func() {
		if _, err := Build(t.Context(), client, index, schema.Shape{Shards: 1}, source, o, ""); err != nil {
			t.Error(err)
		}
	})
	<-source.reached
	host, _ := os.Hostname()
	for what, act := range map[string]func() error{
		"indexing": func() error {
			_, err := Build(t.Context(), client, index, schema.Shape{Shards: 1}, &list{passages: passages(1, 3)}, o, "")
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
			var held *lease.HeldError
			if !errors.As(err, &held) ||
				!strings.Contains(err.Error(), fmt.Sprintf("indexing on host %s (process %d, since ", host, os.Getpid())) {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
	group.Wait()
	close(source.on)
	first.Wait()
	if report, err := Build(t.Context(), client, index, schema.Shape{Shards: 1}, &list{passages: passages(1, 3)}, o,
		""); err != nil ||
		report.There != 3 {
		t.Errorf("afterwards: %+v, %v", report, err)
	}
}

// TestChangesOfMeta: of several who change what an index is at the same time, none undoes
// what another did.
func TestChangesOfMeta(t *testing.T) {
	client := testClient(t)
	index := testIndex(t, client, "write-meta")
	if _, err := Build(t.Context(), client, index, schema.Shape{Shards: 1}, &list{passages: passages(1, 3)}, store.BuildOptions{}, ""); err != nil {
		t.Fatal(err)
	}
	const hands, each = 3, 3
	var group sync.WaitGroup
	for range hands {
		group.Go(func() {
			target, err := Open(t.Context(), client, index)
			for range each {
				if err == nil {
					err = target.changeMeta(
						t.Context(),
						nil,
						func(about *schema.Meta) error { about.Manifest.Calibration += "x"; return nil },
					)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if target, err := Open(t.Context(), client, index); err != nil ||
		target.Manifest().Calibration != strings.Repeat("x", hands*each) {
		t.Errorf("%d changes are %+v, %v", hands*each, target, err)
	}
}
