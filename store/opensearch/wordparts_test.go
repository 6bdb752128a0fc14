package opensearch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
)

// TestManyWords: questions of far more different words than a cluster takes in one query have the
// hits of a folder, by words and by phrases, with and without a filter, and so do the scores of given
// passages and the bound.
func TestManyWords(t *testing.T) {
	t.Parallel()
	const seed = 38
	random := rand.New(rand.NewPCG(seed, 0))
	options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4, Phrases: true, Analysis: forms.Unicode}}
	farCorpus, nearCorpus := built(t, "many-words", tagged(seed, 600), 2, options)
	far, near := farCorpus.Acquire(), nearCorpus.Acquire()
	defer far.Release()
	defer near.Release()
	for _, n := range []int{1100, 2000} {
		var words []string
		for i := range n { // some twice, and some that no passage has
			words = append(words, fmt.Sprintf("w%d", i*(1+random.IntN(2))))
		}
		random.Shuffle(n, func(i, j int) { words[i], words[j] = words[j], words[i] })
		question := strings.Join(words, " ")
		for _, f := range []storage.Filter{{}, {TagsAny: []string{"by1"}}} {
			a, _, err := far.Among(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			b, _, err := near.Among(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for name, of := range map[string][2]storage.WordIndex{"words": {a.Words(), b.Words()},
				"phrases": {a.Phrases(), b.Phrases()}} {
				got, err := of[0].Search(t.Context(), question, 100)
				if err != nil {
					t.Fatalf("%d %s: %v", n, name, err)
				}
				want, err := of[1].Search(t.Context(), question, 100)
				if err != nil || len(got) != len(want) || name == "words" && len(want) != 100 {
					t.Fatalf("%d %s: %d hits, and %d of a folder, %v", n, name, len(got), len(want), err)
				}
				gotIDs, gotScores := byID(t, far, settled(t, far, got))
				wantIDs, wantScores := byID(t, near, settled(t, near, want))
				if name == "words" && len(wantIDs) < 50 {
					t.Fatalf("%d %s: only %d hits are compared", n, name, len(wantIDs))
				}
				for i := range wantIDs {
					if gotIDs[i] != wantIDs[i] || differ(gotScores[i], wantScores[i]) {
						t.Fatalf("seed %d: %d %s: hit %d is %s %v, of a folder %s %v", seed, n, name, i,
							gotIDs[i], gotScores[i], wantIDs[i], wantScores[i])
					}
				}
				ids := []string{"p0007", "p0400", "p0500"}
				scores := [2][]float32{make([]float32, len(ids)), make([]float32, len(ids))}
				for i, v := range []storage.View{far, near} {
					ordinals := make([]rank.Ordinal, len(ids))
					for j, id := range ids {
						ordinals[j], _, err = v.Passages().Ordinal(t.Context(), id)
						if err != nil {
							t.Fatal(err)
						}
					}
					if err := of[i].Scores(t.Context(), question, ordinals, scores[i]); err != nil {
						t.Fatal(err)
					}
				}
				for j := range ids {
					if differ(scores[0][j], scores[1][j]) {
						t.Errorf("%d %s: %s has %v, of a folder %v", n, name, ids[j], scores[0][j], scores[1][j])
					}
				}
				x, errA := of[0].UpperBound(t.Context(), question)
				y, errB := of[1].UpperBound(t.Context(), question)
				if errA != nil || errB != nil || math.Abs(x-y) > 1e-4*y {
					t.Errorf("%d %s: the bound is %v, of a folder %v, %v, %v", n, name, x, y, errA, errB)
				}
			}
		}
	}
}

// differ reports that scores are not the same but for the order in which they were summed.
func differ(a, b float32) bool { return math.Abs(float64(a-b)) > 2e-6*math.Abs(float64(b)) }

// TestCountsAreKept: words are counted by one request to each shard that looks at no passage, once for as long as the
// index does not change, and anew when it did.
func TestCountsAreKept(t *testing.T) {
	t.Parallel()
	options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4, Analysis: forms.Unicode}}
	farCorpus, _ := built(t, "counts-kept", tagged(6, 200), 3, options)
	far := farCorpus.(*Corpus)
	var counts, searches atomic.Int64
	far.Store().Observe(func(e cluster.Exchange) {
		switch { // a node that is slow may be overtaken by another one
		case e.Outcome != "ok":
		case e.Operation == "termvectors":
			counts.Add(1)
		case e.Operation == "msearch":
			searches.Add(1)
		}
	})
	bound := func(question string) float64 {
		t.Helper()
		v := far.Acquire()
		defer v.Release()
		if _, err := v.Words().Search(t.Context(), question, 10); err != nil {
			t.Fatal(err)
		}
		bound, err := v.Words().UpperBound(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		return bound
	}
	before := bound("w1 w2 zebra")
	searches.Store(0)
	for range 3 {
		if again := bound("w2 zebra w1"); again != before {
			t.Errorf("%v, then %v", before, again)
		}
	}
	if counts.Load() != 3 || searches.Load() != 3 {
		t.Errorf("%d requests for counts, %d searches", counts.Load(), searches.Load())
	}
	given := tagged(7, 30)
	for i := range given {
		given[i].ID += "-later"
		given[i].Text += " zebra"
	}
	if _, err := far.Store().Add(t.Context(), &list{passages: given}, options); err != nil {
		t.Fatal(err)
	}
	if err := far.Store().refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := bound("w1 w2 zebra"); after >= before || counts.Load() != 6 {
		t.Errorf("zebra is in 30 passages: %v, before %v; %d requests", after, before, counts.Load())
	}
}

// TestManyCandidates: more candidates than a cluster gives in one search are scored by words, vectors and
// late interaction all the same, and those that are not there are told.
func TestManyCandidates(t *testing.T) {
	t.Parallel()
	given := tagged(9, 40)
	farCorpus, nearCorpus := both(t, "many-candidates", given, hashed{name: "plain"}, hashed{name: "tokens", late: true})
	far, near := farCorpus.Acquire(), nearCorpus.Acquire()
	defer far.Release()
	defer near.Release()
	table := far.(*view).table
	var ordinals []rank.Ordinal
	for i := range mostHits + 100 {
		ordinals = append(ordinals, table.ordinal(fmt.Sprintf("none-%d", i), 1, 0))
	}
	for _, p := range given {
		ordinals = append(ordinals, table.ordinal(p.ID, 1, 0))
	}
	a, _, err := far.Among(t.Context(), storage.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := near.Among(t.Context(), storage.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Words().Search(t.Context(), "w1 w7", 3); err != nil {
		t.Fatal(err)
	}
	query := make([]float32, hashedDimension)
	query[1] = 1
	gone, err := a.Prefetch(t.Context(), ordinals)
	if err != nil || len(gone) != mostHits+100 {
		t.Errorf("%d are gone, %v", len(gone), err)
	}
	scores := make([]float32, len(ordinals))
	if err := a.Words().Scores(t.Context(), "w1 w7", ordinals, scores); err != nil {
		t.Fatal(err)
	}
	tokens, _ := a.Vectors("tokens")
	late := make([]float32, len(ordinals))
	if err := tokens.Scores(t.Context(), query, ordinals, late); err != nil {
		t.Fatal(err)
	}
	for i, p := range given {
		o, _, err := near.Passages().Ordinal(t.Context(), p.ID)
		want := make([]float32, 1)
		if err == nil {
			err = b.Words().Scores(t.Context(), "w1 w7", []rank.Ordinal{o}, want)
		}
		if at := mostHits + 100 + i; err != nil || scores[at] != want[0] || late[at] != late[at] {
			t.Errorf("%s has %v and %v, of a folder %v, %v", p.ID, scores[at], late[at], want[0], err)
		}
	}
}
