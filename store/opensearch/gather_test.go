package opensearch

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
)

// TestGathered: the searches of words, phrases and an expert of a question go to the cluster in one request, beside one
// that counts, and its candidates' scores in another; and each finds what it finds by itself. A source
// that ends without searching keeps the others waiting no longer, nor does one that fails or is slow.
func TestGathered(t *testing.T) {
	t.Parallel()
	options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4, Phrases: true, Analysis: forms.Unicode},
		Index:   store.Index{Kind: "flat"},
		Experts: []store.PassageEncoder{hashed{name: "plain"}, hashed{name: "tokens", late: true}}}
	farCorpus, _ := built(t, "gathered", tagged(31, 300), 2, options)
	far := farCorpus.(*Corpus)
	var mu sync.Mutex
	requests := map[string]int{}
	far.Store().Observe(func(e cluster.Exchange) {
		mu.Lock()
		defer mu.Unlock()
		if e.Outcome == "ok" {
			requests[e.Operation]++
		}
	})
	query := make([]float32, hashedDimension)
	query[3] = 1
	question := "w1 w2 w5 w17"
	ask := func(v storage.View, source string) (hits []rank.Hit, err error) {
		x, _ := v.Vectors("plain")
		switch source {
		case "words":
			return v.Words().Search(t.Context(), question, 20)
		case "phrases":
			return v.Phrases().Search(t.Context(), question, 20)
		case "wrong":
			return x.Search(t.Context(), query[:hashedDimension-1], 20, false)
		}
		return x.Search(t.Context(), query, 20, false)
	}
	alone := map[string]string{}
	for _, source := range []string{"words", "phrases", "plain"} {
		v := far.Acquire()
		hits, err := ask(v, source)
		if err != nil || len(hits) == 0 {
			t.Fatalf("%s: %d hits, %v", source, len(hits), err)
		}
		alone[source] = fmt.Sprint(hits)
		v.Release()
	}
	far.kept.Store(nil) // nothing is counted
	for _, others := range [][]string{nil, {"wrong"}, {"silent"}, {"slow"}} {
		clear(requests)
		far.gather = time.Hour // a busy machine is no reason to fail
		if slices.Contains(others, "slow") {
			far.gather = time.Millisecond
		}
		v := far.Acquire()
		sources := append([]string{"words", "phrases", "plain"}, others...)
		left := v.(storage.SearchBatcher).Gather(len(sources))
		var all sync.WaitGroup
		for _, source := range sources {
			all.Go(func() {
				defer left()
				if source == "silent" {
					return
				}
				if source == "slow" { // others do not wait for that
					time.Sleep(time.Second)
					return
				}
				hits, err := ask(v, source)
				if source == "wrong" != (err != nil) || err == nil && fmt.Sprint(hits) != alone[source] {
					t.Errorf("%s beside %v: %v, %v; by itself %s", source, others, hits, err, alone[source])
				}
			})
		}
		all.Wait()
		mu.Lock()
		if requests["msearch"] != 1 && !slices.Contains(others, "slow") {
			t.Errorf("beside %v: %v", others, requests)
		}
		mu.Unlock()
		v.Release()
	}
}

// TestHolds: which of a question's words, forms and phrases a passage has is known with the scores of candidates,
// and is what the explanation of a folder says.
func TestHolds(t *testing.T) {
	t.Parallel()
	options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4, Phrases: true, Analysis: forms.Unicode}}
	var given []corpus.Passage
	texts := []string{"wifi river", "wi-fi river", "the fi of a wi river", "AX-77 lake", "ax77", "ax 77 lake of José",
		"jose by the lake", "C++ river stone", "river lake stone fi", "wi fi wifi", "ax 77 ax77 stone"}
	for i, text := range texts {
		given = append(given, corpus.Passage{ID: fmt.Sprintf("p%02d", i), Text: text})
	}
	farCorpus, nearCorpus := built(t, "holds", given, 2, options)
	b := &between{to: farCorpus.(*Corpus).Store().client}
	shown := b.open(t, "holds")
	far, near := shown.Acquire(), nearCorpus.Acquire()
	defer near.Release()
	forms := 0
	asked := int64(0)
	for _, question := range []string{"wi-fi river", "wifi", "AX-77 jose", "ax77 lake", "c++ stone", "river lake stone", "fi"} {
		far.Release()
		far = shown.Acquire()
		for name, of := range map[string][2]storage.WordIndex{"words": {far.Words(), near.Words()},
			"phrases": {far.Phrases(), near.Phrases()}} {
			if _, err := of[0].Search(t.Context(), question, 3); err != nil {
				t.Fatal(err)
			}
			if _, err := of[0].Rarities(t.Context(), strings.Fields(question)); err != nil {
				t.Fatal(err)
			}
			var ordinals []rank.Ordinal
			for _, p := range given {
				o, _, err := far.Passages().Ordinal(t.Context(), p.ID)
				if err != nil {
					t.Fatal(err)
				}
				ordinals = append(ordinals, o)
			}
			if _, err := far.Prefetch(t.Context(), ordinals); err != nil {
				t.Fatal(err)
			}
			b.asked.Store(0)
			for i, o := range ordinals {
				got, err := of[0].(storage.Holder).Holds(t.Context(), question, o)
				if err != nil {
					t.Fatal(err)
				}
				want := explained(t, near, of[1], question, given[i].ID)
				if termsShown(got) != termsShown(want) {
					t.Errorf("%s of %q in %q: %s, a folder says %s", name, question, given[i].Text, termsShown(got), termsShown(want))
				}
				for _, x := range got {
					if x.For != "" {
						forms++
					}
				}
			}
			asked += b.asked.Load()
		}
	}
	if forms < 5 || asked > 10 {
		t.Errorf("%d forms were found, and %d searches were made for what was known", forms, asked)
	}
}

// termsShown returns what terms say of a passage.
func termsShown(terms []storage.TermScore) string {
	var out []string
	for _, x := range terms {
		own := slices.ContainsFunc(terms, func(o storage.TermScore) bool { return o.For == "" && o.Term == x.For })
		if x.For == "" {
			out = append(out, x.Term)
		} else if !own {
			out = append(out, "form of "+x.For)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
