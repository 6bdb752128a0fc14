package schema

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/search"
	"example.org/conclave/search/lookup"
)

// TestFillIsEncodingJSON compares what fill makes of parsed JSON with what encoding/json makes
// of its text, for every request and for values that it meets in none.
func TestFillIsEncodingJSON(t *testing.T) {
	type inner struct {
		Name string `json:"name"`
		Any  any    `json:"any,omitempty"`
	}
	type all struct {
		inner
		Pointer *inner            `json:"pointer"`
		List    []inner           `json:"list"`
		Strings map[string]string `json:"strings"`
		Numbers map[string]float64
		Many    map[string][]int `json:"many"`
		Small   int8             `json:"small"`
		Count   uint             `json:"count"`
		Share   float32          `json:"share"`
		Unsaid  string           `json:"-"`
	}
	const seed = 11
	rng := rand.New(rand.NewPCG(seed, 0))
	others := []any{
		nil,
		true,
		"x",
		"rrf",
		json.Number("1"),
		json.Number("-0"),
		json.Number("1.5"),
		json.Number("1e3"),
		json.Number("1e999"),
		json.Number("300"),
		[]any{},
		[]any{"title", nil},
		[]any{json.Number("7")},
		map[string]any{},
		map[string]any{"name": "x", "any": []any{json.Number("2.50")}},
	}
	filled, refused := 0, 0
	for _, c := range []struct {
		text string
		into func() any
	}{
		{`{"question":"x","messages":[{"role":"user","content":"y"}],"k":3,"fusion":["rrf","sum"],"experts":["a"],"bm25":true,"weights":{"bm25":0.5},"fields":["title"],"filter":{"tags_any":["a"],"tags_all":[]},"answer":{"passages":3},"collapse":false}`, func() any { return new(search.Request) }},
		{`{"question":"x","fusion":"auto","answer":true,"experts":[],"late":null}`, func() any { return new(search.Request) }},
		{`{"expert":"a","input":["x"],"kind":"passage"}`, func() any { return new(lookup.EmbedRequest) }},
		{`{"fusion":"rrf","candidates":[{"id":"a","metadata":{"year":1e3,"deep":[1,{"a":2.50}]},"contributions":[{"source":"b","score":0.5,"rank":null,"origin":"hit"}],"rank":1}],"weights":{"b":2}}`, func() any { return new(search.FuseRequest) }},
		{`{"name":"n","any":{"a":[1,2]},"pointer":{"name":"p"},"list":[{"name":"q"}],"strings":{"a":"b"},"Numbers":{"a":1e-3},"many":{"a":[1]},"small":-5,"count":7,"share":0.1,"-":"no","Unsaid":"no"}`, func() any { return new(all) }},
	} {
		for range 2000 {
			body, problem := ParseJSON([]byte(c.text))
			if problem != nil {
				t.Fatal(problem)
			}
			object := body.(map[string]any)
			for range rng.IntN(3) {
				keys := slices.Sorted(maps.Keys(object))
				object[keys[rng.IntN(len(keys))]] = others[rng.IntN(len(others))]
			}
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			got, want := c.into(), c.into()
			wrong := json.Unmarshal(text, want)
			unfit := Fill(object, got)
			if (wrong == nil) != (unfit == nil) {
				t.Fatalf("seed %d: %s: %v, and encoding/json says %v", seed, text, unfit, wrong)
			}
			if unfit != nil {
				refused++
				continue
			}
			if filled++; !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: %s\n%+v\n%+v", seed, text, got, want)
			}
		}
	}
	if filled < 1000 || refused < 1000 {
		t.Errorf("%d were filled, %d refused", filled, refused)
	}
	if err := Fill(map[string]any{"expert": []any{}}, new(lookup.EmbedRequest)); err == nil ||
		!strings.Contains(err.Error(), "expert") {
		t.Errorf("an error that names no field: %v", err)
	}
}

// BenchmarkFill times what follows the parsing of a search.
func BenchmarkFill(b *testing.B) {
	body, _ := ParseJSON(
		[]byte(
			`{"question":"how do wolves hunt?","k":10,"fusion":["rrf","sum"],"weights":{"bm25":0.5},"fields":["title","text"],"filter":{"tags_any":["a","b","c"]}}`,
		),
	)
	for b.Loop() {
		var r search.Request
		if err := Fill(body, &r); err != nil {
			b.Fatal(err)
		}
	}
}
