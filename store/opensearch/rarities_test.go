package opensearch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
)

// TestRaritiesAsEmbedded: how rare words and phrases are, those too that no passage has or
// that passages have in another form alone, is what a collection in a folder says.
func TestRaritiesAsEmbedded(t *testing.T) {
	t.Parallel()
	words := []string{"Núñez", "wi-fi", "BC.6613-18", "9f86d081884c7d65", "river", "river", "stone", "lake", "cloud", "42"}
	const seed = 35
	random := rand.New(rand.NewPCG(seed, 0))
	var given []corpus.Passage
	for i := range 120 {
		text := make([]string, 6)
		for j := range text {
			text[j] = words[random.IntN(len(words))]
		}
		given = append(given, corpus.Passage{ID: fmt.Sprintf("p%03d", i), Text: strings.Join(text, " ")})
	}
	options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4, Phrases: true, Analysis: forms.Unicode}}
	farCorpus, nearCorpus := built(t, "rarities", given, 2, options)
	far, near := farCorpus.Acquire(), nearCorpus.Acquire()
	defer far.Release()
	defer near.Release()
	texts := []string{
		"is",
		"BC.6613-18",
		"BC661318",
		"river",
		"nunez?",
		"9f86d081884c7d65",
		"9f86d081884c7d66",
		"river stone river",
		"...",
		"wifi",
	}
	together := strings.Join(texts, " ")
	texts = append(texts, together)
	some := 0
	exactly := strings.ReplaceAll(together, "nunez", "núñez") // the store counts phrases in the words' own forms
	for name, of := range map[string][2]storage.WordIndex{"words": {far.Words(), near.Words()},
		"phrases": {far.Phrases(), near.Phrases()}} {
		texts[len(texts)-1] = together
		if name == "phrases" {
			texts[len(texts)-1] = exactly
		}
		got, errA := of[0].Rarities(t.Context(), texts)
		want, errB := of[1].Rarities(t.Context(), texts)
		if errA != nil || errB != nil || len(got) != len(texts) || len(want) != len(texts) {
			t.Fatalf("seed %d: %s: %d and %d, %v, %v", seed, name, len(got), len(want), errA, errB)
		}
		for i, text := range texts {
			a, b := raritiesByTerm(got[i]), raritiesByTerm(want[i])
			if len(a) != len(b) {
				t.Errorf("seed %d: %s of %q: %v, in a folder %v", seed, name, text, a, b)
			}
			for term, x := range b {
				y := a[term]
				if x.Count != y.Count || x.DocFrequency != y.DocFrequency || math.Abs(x.IDF-y.IDF) > 1e-5 ||
					math.Abs(x.Relative-y.Relative) > 1e-5 {
					t.Errorf("seed %d: %s of %q: %+v, in a folder %+v", seed, name, text, y, x)
				}
				if x.DocFrequency > 0 {
					some++
				}
			}
		}
	}
	if some < 20 {
		t.Errorf("seed %d: only %d terms of passages were compared", seed, some)
	}
}

// raritiesByTerm returns rarities by their terms.
func raritiesByTerm(list []storage.Rarity) map[string]storage.Rarity {
	out := map[string]storage.Rarity{}
	for _, r := range list {
		out[r.Term] = r
	}
	return out
}
