package opensearch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// documentIndex makes an index and returns a writer to it by a client.
func documentIndex(t *testing.T, client *cluster.Client, index string) (open func(*cluster.Client) *Writer) {
	t.Helper()
	e := []store.PassageEncoder{hashed{name: "plain"}}
	options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4}, Experts: e}
	given := &list{passages: passages(1, 3)}
	if _, err := Build(t.Context(), client, index, schema.Shape{Shards: 3}, given, options, ""); err != nil {
		t.Fatal(err)
	}
	return func(client *cluster.Client) *Writer {
		s, err := Open(t.Context(), client, index)
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWriter(s, e, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.undisturbed = 150 * time.Millisecond
		w.inFlight = 0
		return w
	}
}

// labelled returns the changes of a version, with a tag.
func labelled(number, passages int, tag string) []store.Change {
	changes := version(number, passages)
	for _, c := range changes {
		if c.Put != nil {
			c.Put.Tags = []string{tag}
		}
	}
	return changes
}

// whole returns which version of the document the index has, "" for none, and an error where what is
// answered of it is not all of one.
func whole(t *testing.T, w *Writer) (version string, passages int) {
	t.Helper()
	ids := []string{}
	for n := range 6 {
		ids = append(ids, corpus.PassageID("doc.md", n+1))
	}
	found, err := w.store.readPassages(t.Context(), ids)
	if err == nil {
		found, err = w.store.ofOneVersion(t.Context(), ids, found)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, p := range found {
		d, _, ok := corpus.DocumentOf(&p)
		if !ok {
			continue
		}
		passages++
		is := d.SHA256 + strings.Join(p.Tags, "")
		if version != "" && version != is {
			t.Errorf("passages of %s and of %s", version, is)
		}
		version = is
		want = d.Passages
	}
	if passages != want {
		t.Errorf("%d passages of %s, which has %d", passages, version, want)
	}
	return version, passages
}

// TestIntentsAfterCrashes lets a writer die after each of its requests, the last one made or not,
// while it puts, replaces, deletes and retags a document. Once the next writer has looked, the
// document is whole: of the version before or of the one after, and the latter where the writer
// was told so.
func TestIntentsAfterCrashes(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	open := documentIndex(t, client, testIndex(t, client, "write-intents"))
	next := open(client)
	put := func(w *Writer, changes []store.Change) error {
		results, err := w.ApplyTogether(t.Context(), changes)
		for _, r := range results {
			if err == nil && r.Err != nil {
				err = r.Err
			}
		}
		return err
	}
	number := 0
	for _, kind := range []string{"added", "replaced", "shorter", "retagged", "deleted"} {
		for at := int64(1); ; at++ {
			number += 2
			before, after := labelled(number, 4, "x"), labelled(number+1, 6, "x")
			is, will := fmt.Sprintf("%dx", number), fmt.Sprintf("%dx", number+1)
			switch kind {
			case "added":
				before = version(0, 0)
				is = ""
			case "shorter":
				after = labelled(number+1, 2, "x")
			case "retagged":
				after = labelled(number, 4, "y")
				will = fmt.Sprintf("%dy", number)
			case "deleted":
				after = version(0, 0)
				will = ""
			}
			if err := put(next, before); err != nil {
				t.Fatal(err)
			}
			f := &faulty{to: client, random: rand.New(rand.NewPCG(1, 1)), share: 1e-9}
			dying := open(behind(t, f))
			dead, die := context.WithCancel(t.Context())
			f.request.Store(0)
			f.before = func(n int64) bool {
				if n == at+1 {
					die()
				}
				return n > at
			}
			results, err := dying.ApplyTogether(dead, after)
			die()
			told := err == nil && results[0].Err == nil
			if at%2 == 0 {
				// What a writer of the document does before its own change.
				r := next.intentOf("doc.md")
				if _, err := next.awaitNoIntent(t.Context(), r, &waitedTime{}); err != nil {
					t.Fatal(err)
				}
			}
			for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
				if err := next.Mend(t.Context()); err != nil {
					t.Fatal(err)
				}
				names, err := next.store.Register("").listPending(t.Context())
				if err != nil || len(names) == 0 || time.Now().After(end) {
					if err != nil || len(names) > 0 {
						t.Fatalf("%s, request %d: %d changes are left, %v", kind, at, len(names), err)
					}
					break
				}
			}
			if got, _ := whole(t, next); got != will && (told || got != is) {
				t.Errorf("%s, a crash after request %d, told %v: %q, want %q or before %q", kind, at, told, got, will, is)
			}
			if told {
				if at < 4 {
					t.Errorf("%s: no more than %d requests", kind, at)
				}
				break
			}
		}
	}
}

// TestIntentsTogether lets several writers change one document at a time, with a condition and without:
// it is whole whenever none is at work, and those that were refused have changed nothing.
func TestIntentsTogether(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	open := documentIndex(t, client, testIndex(t, client, "write-contended"))
	writers := []*Writer{open(client), open(client), open(client)}
	for round := range 6 {
		var group sync.WaitGroup
		var mu sync.Mutex
		made := map[string]bool{}
		first, version1, _, err := writers[0].Passage(t.Context(), "doc.md#1", func(int) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range writers {
			group.Go(func() {
				changes := labelled(100*round+i, 2+(round+i)%5, "x")
				changes[0].IfMatch = version1
				changes[0].IfAbsent = first.ID == ""
				results, err := w.ApplyTogether(t.Context(), changes)
				if err != nil {
					t.Error(err)
					return
				}
				if results[0].Err == nil {
					mu.Lock()
					made[fmt.Sprintf("%dx", 100*round+i)] = true
					mu.Unlock()
				}
			})
		}
		group.Wait()
		if got, _ := whole(t, writers[0]); len(made) != 1 || !made[got] {
			t.Errorf("round %d: it is %s, made were %v", round, got, made)
		}
	}
}
