package opensearch

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/testing/anycondition"
	"example.org/conclave/search/storage"
)

// TestConditionsInBothStores: for random metadata and conditions, a cluster and a folder select what
// reading each passage's metadata selects, and refuse the same values.
func TestConditionsInBothStores(t *testing.T) {
	t.Parallel()
	const seed = 23
	rng := rand.New(rand.NewPCG(seed, 1))
	var given []corpus.Passage
	for i := range 300 {
		given = append(given, corpus.Passage{ID: fmt.Sprintf("p%03d", i), Text: "common text",
			Tags: []string{fmt.Sprint("t", rng.IntN(4))}, Metadata: anycondition.Metadata(rng)})
	}
	far, near := both(t, "conditions", given, hashed{name: "base"})
	some, misfits := 0, 0
	drawn := []conditions.Condition{
		{Field: "born", Gte: new(conditions.Text("old"))}, {Field: "day", Lt: new(conditions.Text("2024"))},
		{Not: &conditions.Condition{Field: "author.name", In: []conditions.Value{conditions.Number(1)}}},
	}
	for range 250 {
		drawn = append(drawn, anycondition.Condition(rng))
	}
	for _, c := range drawn {
		text, _ := json.Marshal(c)
		where, problems := c.Compile(nil)
		if problems != nil {
			t.Fatalf("%s: %+v", text, problems)
		}
		var want []string
		for _, p := range given {
			if anycondition.Meets(c, p.Tags, p.Metadata) {
				want = append(want, p.ID)
			}
		}
		var refused []string
		for _, store := range []storage.Corpus{far, near} {
			ids, err := selectedBy(t, store, storage.Filter{Where: where})
			var misfit *conditions.MisfitError
			if errors.As(err, &misfit) {
				refused = append(refused, fmt.Sprint(misfit.Problems))
				continue
			}
			if err != nil || !slices.Equal(ids, want) {
				t.Fatalf("seed %d: %T, %s: %v\ngot  %v\nwant %v", seed, store, text, err, ids, want)
			}
		}
		if len(refused) == 1 || len(refused) == 2 && refused[0] != refused[1] {
			t.Fatalf("%s: %q", text, refused)
		}
		if refused == nil && len(want)%5 == 0 {
			sameFacets(t, string(text), far, near, storage.Filter{Where: where})
		}
		misfits += len(refused) / 2
		if len(want) > 0 && len(want) < len(given) {
			some++
		}
	}
	if some < 100 || misfits < 3 {
		t.Errorf("%d conditions tell passages apart, %d do not fit", some, misfits)
	}
}

// sameFacets compares the counts of values of two stores.
func sameFacets(t *testing.T, name string, far, near storage.Corpus, f storage.Filter) {
	t.Helper()
	for _, field := range []string{"colour", "cell", "any", "price", "sold"} {
		var got [2]storage.Facet
		for i, c := range []storage.Corpus{far, near} {
			v := c.Acquire()
			indexes, _, err := v.Among(t.Context(), f)
			if err == nil {
				got[i], err = indexes.(storage.FacetCounter).Facet(t.Context(), field, 7)
			}
			v.Release()
			if err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(got[0], got[1]) {
			t.Errorf("%s, %s:\ncluster %+v\nfolder  %+v", name, field, got[0], got[1])
		}
	}
}

// selectedBy returns the ids of the passages that a filter lets through, in order.
func selectedBy(t *testing.T, c storage.Corpus, f storage.Filter) (ids []string, err error) {
	t.Helper()
	v := c.Acquire()
	defer v.Release()
	indexes, count, err := v.Among(t.Context(), f)
	if err != nil {
		return nil, err
	}
	hits, err := indexes.Words().Search(t.Context(), "common", 1000)
	if err != nil {
		t.Fatal(err)
	}
	n, err := count(t.Context())
	if err != nil || n != len(hits) {
		t.Fatalf("%d are selected and %d found, %v", n, len(hits), err)
	}
	ids, _ = byID(t, v, hits)
	slices.Sort(ids)
	return ids, nil
}
