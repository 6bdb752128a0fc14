package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"conclave/collection"
	"conclave/corpus"
	"conclave/search"
)

// TestFilterReachesTheCollection: the engine's filter is the collection's
// selection, of words and of the passages behind them.
func TestFilterReachesTheCollection(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	var lines strings.Builder
	for i := range 40 {
		_, _ = fmt.Fprintf(&lines, "{\"id\":\"p%02d\",\"text\":\"a windmill of number %d\",\"tags\":[%q,%q]}\n", i, i, fmt.Sprint("by", i%4), fmt.Sprint("of", i%5))
	}
	source, err := corpus.OpenSeries([]corpus.Input{{Path: "-", Stdin: strings.NewReader(lines.String())}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := collection.Build(t.Context(), dir, source, collection.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	c, err := collection.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	engine, err := search.NewEngine(search.Config{Corpus: shelf{c}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Close(t.Context()) }()
	for _, f := range []search.Filter{{TagsAll: []string{"by1"}}, {TagsAll: []string{"by1", "of3"}}, {TagsAny: []string{"by1", "of3"}}, {TagsAny: []string{"by9"}}} {
		r, err := engine.Search(t.Context(), search.Request{Question: "windmill", K: 40, Filter: f, Fields: []string{"tags"}})
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for i := range 40 {
			tags := []string{fmt.Sprint("by", i%4), fmt.Sprint("of", i%5)}
			if hasAll(tags, f.TagsAll) && (len(f.TagsAny) == 0 || slices.ContainsFunc(f.TagsAny, func(tag string) bool { return slices.Contains(tags, tag) })) {
				want++
			}
		}
		if len(r.Results) != want || *r.Selected != want {
			t.Errorf("%+v: %d results, %d selected, want %d", f, len(r.Results), *r.Selected, want)
		}
		for _, result := range r.Results {
			if !hasAll(result.Tags, f.TagsAll) {
				t.Errorf("%+v: %+v", f, result)
			}
		}
	}
}

func hasAll(tags, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(tag string) bool { return !slices.Contains(tags, tag) })
}
