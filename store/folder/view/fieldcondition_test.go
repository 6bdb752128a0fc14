package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/testing/anycondition"
	"example.org/conclave/search"
	"example.org/conclave/search/fault"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// TestConditionsOnFields: an answer under a condition has the passages that meet it, in the order and
// with the scores that they have without it, exact or not; how many there are is said.
func TestConditionsOnFields(t *testing.T) {
	const seed = 17
	rng := rand.New(rand.NewPCG(seed, 1))
	metadata := map[string]map[string]any{}
	tags := map[string][]string{}
	source := &list{}
	for i := range 150 {
		p := corpus.Passage{
			ID:   fmt.Sprintf("p%03d", i),
			Text: []string{"a ferry", "a bridge to the island", "the island ferry", "storm and ferry"}[rng.IntN(4)],
			Tags: []string{fmt.Sprint("t", rng.IntN(4))}, Metadata: anycondition.Metadata(rng),
		}
		p.Text += fmt.Sprintf(" number %d", i)
		source.passages = append(source.passages, p)
		metadata[p.ID], tags[p.ID] = p.Metadata, p.Tags
	}
	dir := filepath.Join(t.TempDir(), "index")
	_, err := folder.Build(t.Context(), dir, source, store.BuildOptions{
		Experts: []store.PassageEncoder{hashed{name: "base"}}, Index: store.Index{Kind: "flat"},
		Words: bm25.DefaultParams(), Threads: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	engine := engineIn(t, dir)
	every := search.Request{
		Question: "the ferry of the island", Fusion: search.Methods{Names: []string{"sum"}}, K: 200, Candidates: 200,
		Normalisation: "raw", Collapse: new(false), TimeoutMS: 10_000, Exact: true,
	}
	whole := asked(t, engine, every)
	some := 0
	for range 200 {
		r := every
		r.Filter.Condition = anycondition.Condition(rng)
		if c := r.Filter.Condition; len(c.TagsAny) > 0 { // the filter's own are beside the condition
			r.Filter.TagsAny = c.TagsAny
		}
		r.Exact = rng.IntN(2) == 0
		text, _ := json.Marshal(r.Filter)
		var want []string
		for _, x := range whole {
			if anycondition.Meets(r.Filter.Condition, tags[x.ID], metadata[x.ID]) {
				want = append(want, fmt.Sprintf("%s %v", x.ID, x.Score))
			}
		}
		response, err := engine.Search(t.Context(), search.Caller{}, r)
		var got []string
		for _, x := range response.Results {
			got = append(got, fmt.Sprintf("%s %v", x.ID, x.Score))
		}
		if err != nil || !slices.Equal(got, want) || *response.Selected != len(want) {
			t.Fatalf("seed %d: %s: %v\ngot  %v\nwant %v", seed, text, err, got, want)
		}
		if len(want) > 0 && len(want) < len(whole) {
			some++
		}
	}
	if some < 80 {
		t.Errorf("only %d conditions tell passages apart", some)
	}
	r := every
	if err := json.Unmarshal([]byte(`{"or":[{"field":"born","lt":1950},{"field":"born","eq":"old"}]}`), &r.Filter); err != nil {
		t.Fatal(err)
	}
	_, err = engine.Search(t.Context(), search.Caller{}, r)
	var refused *fault.Error
	if !errors.As(err, &refused) || refused.Kind != fault.Invalid || len(refused.Fields) != 1 ||
		refused.Fields[0].Pointer != "/filter/or/1/eq" {
		t.Errorf("%+v", err)
	}
}
