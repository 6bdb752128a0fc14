package opensearch

import (
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
	embedded "example.org/conclave/store/folder/view"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// between passes requests on to a cluster, and looks at them.
type between struct {
	to    *cluster.Client
	fetch atomic.Int64 // searches that return codes
	asked atomic.Int64 // searches
	wrong atomic.Bool  // scripts are refused
}

func (b *between) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	text := string(body)
	if strings.HasSuffix(r.URL.Path, "_msearch") {
		b.asked.Add(int64(strings.Count(text, "\n") / 2))
		b.fetch.Add(int64(strings.Count(text, `"_source":["t_`) + strings.Count(text, `"docvalue_fields":["id","t_`)))
		if b.wrong.Load() { // as a cluster without this language says it
			text = strings.ReplaceAll(text, `"lang":"painless"`, `"lang":"unheard"`)
		}
	}
	answer, err := b.to.Do(r.Context(), r.Method, r.URL.RequestURI(), []byte(text))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	_, _ = w.Write(answer)
}

// open shows an index of the cluster, without a sample, whose codes are at hand.
func (b *between) open(t *testing.T, index string) *Corpus {
	t.Helper()
	client := behind(t, b)
	opened, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := NewCorpus(t.Context(), opened)
	if err != nil {
		t.Fatal(err)
	}
	return shown
}

// TestLateInCluster: late interaction is scored by the nodes, to the last bit as in a folder, whatever the
// dimension, and without a passage's codes in any answer; so is a question of more than mostScripted tokens, or
// in a cluster that refuses the script, by fetching them.
// Negative sums are no exception.
func TestLateInCluster(t *testing.T) {
	t.Parallel()
	clean := testClient(t)
	for _, dimension := range []int{4, 20, 64} {
		x := hashed{name: "tokens", late: true, dimension: dimension}
		options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4}, Index: store.Index{Kind: "flat"},
			Experts: []store.PassageEncoder{x}}
		given := tagged(21, 120)
		dir := t.TempDir() + "/embedded"
		if _, err := folder.Build(t.Context(), dir, &list{passages: given}, options); err != nil {
			t.Fatal(err)
		}
		near := embedded.Of(collectionIn(t, dir)).Acquire()
		defer near.Release()
		index := testIndex(t, clean, "late-in-cluster")
		_, err := Build(t.Context(), clean, index, schema.Shape{Shards: 3}, &list{passages: given}, options, "")
		if err != nil {
			t.Fatal(err)
		}
		b := &between{to: clean}
		shown := b.open(t, index)
		random := rand.New(rand.NewPCG(uint64(dimension), 4))
		for _, refused := range []bool{false, true} {
			b.wrong.Store(refused)
			for _, tokens := range []int{1 + random.IntN(9), 1 + random.IntN(9), mostScripted, mostScripted + 1} {
				question := make([]float32, tokens*dimension)
				for i := range question {
					question[i] = float32(random.NormFloat64() * math.Exp(random.NormFloat64()))
				}
				if random.IntN(2) == 0 {
					clear(question[:dimension]) // a token that says nothing
				}
				b.fetch.Store(0)
				got, want := scoresOfAll(t, shown.Acquire(), question, given), scoresOfAll(t, near, question, given)
				if !slices.Equal(got, want) {
					t.Fatalf("dimension %d, refused %t:\n%v, want\n%v", dimension, refused, got, want)
				}
				if fetched := b.fetch.Load() > 0; fetched != (refused || tokens > mostScripted) {
					t.Errorf("dimension %d, %d tokens, refused %t: codes were fetched: %t",
						dimension, tokens, refused, fetched)
				}
			}
		}
	}
}

// scoresOfAll returns what late interaction scores passages, of which one is asked for by itself, after
// an engine's order of calls.
func scoresOfAll(t *testing.T, v storage.View, question []float32, given []corpus.Passage) []float32 {
	t.Helper()
	x, ok := v.Vectors("tokens")
	if !ok {
		t.Fatal("there is no such expert")
	}
	if e, ok := x.(storage.ScorePrefetcher); ok {
		e.Expect(question)
	}
	var ordinals []rank.Ordinal
	for _, p := range given {
		o, ok, err := v.Passages().Ordinal(t.Context(), p.ID)
		if err != nil || !ok {
			t.Fatalf("passage %s: %t, %v", p.ID, ok, err)
		}
		ordinals = append(ordinals, o)
	}
	if gone, err := v.Prefetch(t.Context(), ordinals[1:]); err != nil || len(gone) > 0 {
		t.Fatalf("%v, %v", gone, err)
	}
	out := make([]float32, len(ordinals))
	if err := x.Scores(t.Context(), question, ordinals, out); err != nil {
		t.Fatal(err)
	}
	return out
}
