package opensearch

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/schema"
)

// version returns the changes that put a version of a document in the place of one of up
// to six passages.
func version(number, passages int) (changes []store.Change) {
	for n := 1; n <= max(passages, 6); n++ {
		id := corpus.PassageID("doc.md", n)
		if n > passages {
			changes = append(changes, store.Change{Delete: id})
			continue
		}
		changes = append(changes, store.Change{Put: &corpus.Passage{
			ID: id, Text: fmt.Sprintf("lamp of version%d, part %d", number, n), Metadata: map[string]any{
				corpus.DocumentKey: "doc.md", corpus.DocumentSHA256Key: fmt.Sprint(number),
				corpus.DocumentPassagesKey: int64(passages),
			},
		}})
	}
	return changes
}

// TestTogether replaces a document of a store while it is read: no answer has passages of
// two versions, what stayed is not encoded again, and documents are listed.
func TestTogether(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	index := testIndex(t, client, "write-together")
	var encoded atomic.Int64
	e := []store.PassageEncoder{hashed{name: "plain", encoded: &encoded}, hashed{name: "tokens", late: true}}
	options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4}, Experts: e}
	given := &list{passages: passages(1, 3)}
	if _, err := Build(t.Context(), client, index, schema.Shape{Shards: 3}, given, options, ""); err != nil {
		t.Fatal(err)
	}
	target, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := NewCorpus(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := NewWriter(target, e, nil)
	if err != nil {
		t.Fatal(err)
	}
	put := func(changes []store.Change) {
		t.Helper()
		results, err := writer.ApplyTogether(t.Context(), changes)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
	// read returns which versions an answer of all passages has, and how many passages of them.
	read := func() (versions map[string]int) {
		v := shown.Acquire()
		defer v.Release()
		all, err := v.Passages().After(t.Context(), "", 100)
		if err != nil {
			t.Fatal(err)
		}
		found, err := v.Passages().Read(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		versions = map[string]int{}
		for _, p := range found {
			if _, rest, ok := strings.Cut(p.Text, "version"); ok {
				versions[rest[:strings.IndexByte(rest, ',')]]++
			}
		}
		return versions
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 1; n <= 12; n++ {
			results, err := writer.ApplyTogether(t.Context(), version(n, 1+n%6))
			if err != nil || results[0].Err != nil {
				t.Error(err, results)
			}
			if err := writer.Visible(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if got := read(); len(got) > 1 {
			t.Errorf("an answer has passages of %v", got)
		}
	}
	if got := read(); got["12"] != 1 || len(got) != 1 {
		t.Errorf("in the end: %v", got)
	}

	// A crash between the two steps leaves passages of a version that is not that of the
	// first: they are not answered.
	put(version(20, 4))
	crashed := version(21, 4)[2]
	if _, err := writer.Apply(t.Context(), []store.Change{crashed}); err != nil {
		t.Fatal(err)
	}
	if err := writer.Visible(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := read(); got["20"] != 3 || len(got) != 1 {
		t.Errorf("after a crash: %v", got)
	}

	// The same texts again, one of them in another place and one changed.
	put(version(20, 4))
	again := version(20, 4)
	again[0].Put.Text, again[1].Put.Text = again[1].Put.Text, again[0].Put.Text
	again[3].Put.Text = "lamp of version20, and new"
	for _, c := range again[:4] {
		c.Put.Metadata[corpus.DocumentSHA256Key] = "another"
	}
	encoded.Store(0)
	put(again)
	if n := encoded.Load(); n != 1 {
		t.Errorf("%d passages were encoded, want 1", n)
	}
	if err := writer.Visible(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, c := range again[:4] {
		x, _ := target.Manifest().Expert("plain")
		there, err := target.getStored(t.Context(), []string{c.Put.ID}, x.Field(), schema.FieldText)
		if err != nil {
			t.Fatal(err)
		}
		made, err := there[0].Source.Encoded(x)
		if err != nil {
			t.Fatal(err)
		}
		got := made.Vectors
		want, _ := e[0].EncodePassages(t.Context(), []corpus.Passage{*c.Put})
		if !slices.Equal(got, want[0]) {
			t.Errorf("passage %d has another vector than its text", i+1)
		}
	}

	// The same texts in another language.
	for _, c := range again[:4] {
		c.Put.Metadata[corpus.LanguageKey] = "fr"
	}
	encoded.Store(0)
	put(again)
	if n := encoded.Load(); n != 4 {
		t.Errorf("%d passages in another language were encoded, want 4", n)
	}
	if err := writer.Visible(t.Context()); err != nil {
		t.Fatal(err)
	}

	// Of all passages the first of the document alone is listed.
	v := shown.Acquire()
	defer v.Release()
	firsts, err := v.Passages().DocumentsAfter(t.Context(), "", 10)
	if err != nil || len(firsts) != 1 {
		t.Fatalf("%v, %v", firsts, err)
	}
	found, err := v.Passages().Read(t.Context(), []rank.Ordinal{firsts[0]})
	if err != nil || found[0].ID != "doc.md#1" {
		t.Errorf("%v, %v", found, err)
	}
	// A condition of the first that does not hold changes nothing.
	refused := version(30, 2)
	refused[0].IfAbsent = true
	if results, err := writer.ApplyTogether(t.Context(), refused); err != nil || results[0].Err == nil {
		t.Errorf("%+v, %v", results, err)
	}
	if got := read(); got["30"] > 0 {
		t.Errorf("a refused change was made: %v", got)
	}
}
