package opensearch

import (
	"hash/maphash"
	"math/rand/v2"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/spelling"
	"example.org/conclave/search/storage"
	"example.org/conclave/store/opensearch/schema"
)

// BenchmarkLook looks two mistyped words up, and one that is there, among as many words as a
// server keeps.
func BenchmarkLook(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 0))
	letters := "eeeetttaaaooiinnsshhrrddlucmfwygpbvk"
	counts, known := map[string]uint32{}, map[uint64]struct{}{}
	know := func(word string) {
		counts[word] = 1
		for _, term := range forms.Unicode.Terms(word) {
			known[maphash.String(hashSeed, term)] = struct{}{}
		}
	}
	know("windmill")
	know("purchase")
	for len(counts) < spelling.MostWords {
		word := make([]byte, 3+random.IntN(11))
		for i := range word {
			word[i] = letters[random.IntN(len(letters))]
		}
		know(string(word))
	}
	c := &Corpus{}
	c.store.Store(
		&Store{
			about: schema.Meta{Manifest: &schema.Manifest{
				Words: schema.WordsOf(bm25.Params{K1: .9, B: .4, Phrases: true, Analysis: forms.Unicode}),
			}},
		},
	)
	c.shared.Store(&shared{table: newTable(mostKnown)})
	c.counts.Store(&Statistics{})
	c.lexicon.Store(&lexicon{words: spelling.NewLexicon(counts), known: known, whole: true})
	v := c.Acquire().(*view).Vocabulary()
	var got []storage.Spelling
	for b.Loop() {
		got, _ = v.Look(b.Context(), []string{"windmlil", "puchrase", "purchases"})
	}
	if len(got) != 3 || len(got[0].Near) == 0 || got[1].Near[0].Word != "purchase" && len(got[1].Near) == 1 ||
		!got[2].Known {
		b.Fatal(got)
	}
}
