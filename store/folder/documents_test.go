package folder

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
)

// TestDocumentsAfter compares with the documents that were written: several segments, one
// that was replaced, one that was deleted, and passages that are no documents'.
func TestDocumentsAfter(t *testing.T) {
	t.Parallel()
	o := LiveOptions{FlushAfter: time.Hour, Merge: MergePolicy{Off: true}}
	l := lively(t, disk.OS{}, built(t, o.Build, randomPassages(1, 5)), o)
	of := func(id string, passages int) (changes []store.Change) {
		for i := range passages {
			metadata := map[string]any{corpus.DocumentKey: id}
			changes = append(changes, put(corpus.Passage{ID: corpus.PassageID(id, i+1), Text: id, Metadata: metadata}))
		}
		return changes
	}
	for _, changes := range [][]store.Change{
		of("b.md", 12), of("a/x.pdf", 1), of("c", 3), of("b.md", 12),
		{put(corpus.Passage{ID: "alone#1", Text: "no document"})},
		{put(corpus.Passage{ID: "x#1", Text: "another", Metadata: map[string]any{corpus.DocumentKey: "y"}})},
		{{Delete: "c#1"}, {Delete: "c#2"}, {Delete: "c#3"}}, of("d#1", 2),
	} {
		apply(t, l, changes...)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	g := l.Collection().Acquire()
	defer g.Release()
	for _, c := range []struct {
		after string
		limit int
		want  []string
	}{
		{"", 10, []string{"a/x.pdf#1", "b.md#1", "d#1#1"}},
		{"", 1, []string{"a/x.pdf#1"}},
		{"a/x.pdf#1", 1, []string{"b.md#1"}},
		{"a/x.pdf#", 1, []string{"a/x.pdf#1"}},
		{"e", 5, nil},
	} {
		for range 2 {
			found, err := g.DocumentsAfter(c.after, c.limit)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range found {
				p, err := g.Passage(o)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, p.ID)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%d after %q: %q, want %q", c.limit, c.after, got, c.want)
			}
		}
	}
	if got := fmt.Sprint(g.Len()); got != "22" {
		t.Errorf("%s passages", got)
	}
}
