package view

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// nearByHand scores a passage of plain words, all of which are terms as they are written: every window is counted. idf
// is that of the question's words.
func nearByHand(p corpus.Passage, idf map[string]float32) float32 {
	best := 0.0
	title, text := strings.Fields(p.Title), strings.Fields(p.Text)
	for from := range max(1, len(text)) {
		sum := 0.0
		window := slices.Concat(title, text[from:min(from+bm25.NearWindow, len(text))])
		words := slices.SortedFunc(maps.Keys(idf), func(a, b string) int { return cmp.Compare(idf[b], idf[a]) })
		for _, word := range words {
			if slices.Contains(window, word) {
				sum += float64(idf[word])
			}
		}
		best = max(best, sum)
	}
	return float32(best)
}

// TestNearScores: a collection of several segments, with passages deleted, and two collections joined score nearness as
// counting every window by hand does, with the rarities of all live passages, in whatever order passages are asked
// for; and the terms that explain a score add up to it.
func TestNearScores(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	vocabulary := strings.Fields("windmil river stone lantern orchard winter market bridg candl harbour garden island")
	words := bm25.DefaultParams()
	options := store.BuildOptions{
		Experts: []store.PassageEncoder{hashed{name: "base"}}, Index: store.Index{Kind: "flat"}, Words: words, Threads: 1,
	}
	all := map[string]corpus.Passage{}
	var collections []*folder.Collection
	for c := range 2 {
		dir := filepath.Join(t.TempDir(), fmt.Sprint("c", c))
		for segment := range 3 {
			source := &list{}
			for i := range 30 {
				some := make([]string, 1+random.IntN(60))
				for n := range some {
					some[n] = vocabulary[min(random.IntN(12), random.IntN(12))]
				}
				p := corpus.Passage{ID: fmt.Sprintf("%d-%d-%02d", c, segment, i), Text: strings.Join(some, " ")}
				if i%3 == 0 {
					p.Title = vocabulary[random.IntN(12)] + " " + vocabulary[random.IntN(12)]
				}
				all[p.ID] = p
				source.passages = append(source.passages, p)
			}
			var err error
			if segment == 0 {
				_, err = folder.Build(t.Context(), dir, source, options)
			} else {
				_, err = added(t, dir, source, options)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		collection, err := folder.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = collection.Close() })
		collections = append(collections, collection)
	}
	joined, err := Join(collections, []string{"c0", "c1"})
	if err != nil {
		t.Fatal(err)
	}
	defer joined.Close()
	for name, of := range map[string]storage.Corpus{"0-": Of(collections[0]), "1-": Of(collections[1]), "": joined} {
		view := of.Acquire()
		defer view.Release()
		live := map[string]corpus.Passage{}
		for id, p := range all {
			if strings.HasPrefix(id, name) {
				live[id] = p
			}
		}
		for range 20 {
			question := strings.Join([]string{
				vocabulary[random.IntN(12)], vocabulary[random.IntN(12)], vocabulary[random.IntN(12)],
			}, " ")
			idf := map[string]float32{}
			for _, word := range strings.Fields(question) {
				df := uint64(0)
				for _, p := range live {
					if slices.Contains(strings.Fields(p.Title+" "+p.Text), word) {
						df++
					}
				}
				idf[word] = bm25.IDF(df, uint64(len(live)))
			}
			ordinals := make([]rank.Ordinal, view.Passages().Ordinals())
			for i := range ordinals {
				ordinals[i] = rank.Ordinal(i)
			}
			random.Shuffle(len(ordinals), func(i, j int) { ordinals[i], ordinals[j] = ordinals[j], ordinals[i] })
			index := view.Words().(storage.NearScorer)
			scores := make([]float32, len(ordinals))
			if err := index.NearScores(t.Context(), question, ordinals, scores); err != nil {
				t.Fatal(err)
			}
			names, err := view.Passages().IDs(ordinals)
			if err != nil {
				t.Fatal(err)
			}
			for i, id := range names {
				if want := nearByHand(live[id], idf); scores[i] != want {
					t.Fatalf("%q: %s scores %v, by hand %v: %+v", question, id, scores[i], want, live[id])
				}
				terms, err := index.ExplainNear(t.Context(), question, ordinals[i])
				sum := 0.0
				for _, term := range terms {
					sum += term.Score
				}
				if err != nil || float32(sum) != scores[i] {
					t.Fatalf("%q: %s is explained by %+v, %v, and scores %v", question, id, terms, err, scores[i])
				}
			}
		}
	}
}
