package opensearch

import (
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search"
	"example.org/conclave/store"
)

// olderIndex makes an index with one expert as an earlier version made it: without the fields that came later.
func olderIndex(t *testing.T, client *Client, index string, options store.BuildOptions, shards int) *Store {
	t.Helper()
	x, err := describe(options.Experts[0])
	if err != nil {
		t.Fatal(err)
	}
	m := &Manifest{Format: 1, ID: "older", Words: wordsOf(options.Words), Experts: []Expert{x}}
	body, err := json.Marshal(object{"settings": settings(m.Words, Shape{Shards: shards}),
		"mappings": object{"dynamic": "strict", "_meta": object{"conclave": meta{Manifest: m}}, "properties": properties(m)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Do(t.Context(), "PUT", "/"+index, body); err != nil {
		t.Fatal(err)
	}
	target, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// TestOlderIndex: an index that was made before it was known how passages are written answers
// as before, and says so; indexing again encodes nothing, and then copies count once, and
// mistyped words are corrected. Passages that an older writer adds afterwards are told.
func TestOlderIndex(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	index := testIndex(t, client, "typed-older")
	encoded := &atomic.Int64{}
	options := store.BuildOptions{
		Words:   bm25.DefaultParams(),
		Experts: []store.PassageEncoder{hashed{name: "base", encoded: encoded}},
	}
	options.Words.Phrases = true
	target := olderIndex(t, client, index, options, 2)
	given := append(shopPassages(), corpus.Passage{ID: "p900", Text: "We OPEN at nine  on weekdays and close at six."})
	if _, err := target.Add(t.Context(), &list{passages: given}, options); err != nil {
		t.Fatal(err)
	}
	if err := target.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	far, err := NewCorpus(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	engine := engineOver(t, far)
	r := search.Request{Question: "when do you opn", K: 20}
	read := func() (corrected string, results []string, unwritten int64) {
		t.Helper()
		h, err := far.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := far.ReadWords(t.Context()); err != nil {
			t.Fatal(err)
		}
		corrected, results = shownOf(t, engine, r)
		if n := len(far.Acquire().Passages().Sample(sampled)); h.Unkeyed != h.Unwritten || n < len(given) {
			t.Errorf("%d passages without a key, %d in the sample", h.Unkeyed, n)
		}
		return corrected, results, h.Unwritten
	}
	corrected, results, left := read()
	if corrected != "[]" || len(results) != len(given) || left != int64(len(given)) {
		t.Errorf("before: %s, %d results, %d unwritten", corrected, len(results), left)
	}
	if n, err := target.Copies(t.Context()); err != nil || n != 0 {
		t.Errorf("before: %d copies, %v", n, err)
	}
	encoded.Store(0)
	report, err := Build(t.Context(), client, index, Shape{}, &list{passages: given}, options, "")
	if err != nil || report.There != len(given) || report.Copies != 1 || encoded.Load() != 0 {
		t.Errorf("indexing again: %+v, %v, %d encoded", report, err, encoded.Load())
	}
	corrected, results, left = read()
	if corrected != "[{opn open}]" || len(results) != len(given)-1 ||
		!slices.ContainsFunc(results, func(s string) bool { return s[:4] == "p000" && s[len(s)-6:] == "[p900]" }) ||
		left != 0 {
		t.Errorf("after: %s, %q, %d unwritten", corrected, results, left)
	}
	older := &Store{client: client, index: index, concrete: index, pause: firstPause, about: target.about}
	if _, err := older.Add(t.Context(), &list{passages: []corpus.Passage{{ID: "x", Text: "The vehicle of a flibbertigibbet."}}}, options); err != nil {
		t.Fatal(err)
	}
	if err := older.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _, left = read()
	if left != 1 {
		t.Errorf("%d passages of an older writer", left)
	}
	r.Question = "a flibbertigibbet"
	if corrected, _, _ := read(); corrected != "[]" {
		t.Errorf("corrected %s, which an older writer wrote", corrected)
	}
}
