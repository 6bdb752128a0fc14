package opensearch

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/store"
)

// TestExplainInParts: the terms of a score are those of a folder, also of a question of more words than one query has
// and with other forms among them, and one search explains up to mostClauses of them.
func TestExplainInParts(t *testing.T) {
	t.Parallel()
	options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4, Phrases: true, Analysis: forms.Unicode}}
	given := tagged(12, 150)
	for i := range given {
		given[i].Text += []string{" wifi river", " wi-fi river", " José"}[i%3]
	}
	farCorpus, nearCorpus := built(t, "explain-parts", given, 2, options)
	b := &between{to: farCorpus.(*Corpus).Store().client}
	far, near := b.open(t, "explain-parts").Acquire(), nearCorpus.Acquire()
	defer near.Release()
	for _, n := range []int{3, 1300} {
		words := []string{"wi-fi", "jose", "river", "river"}
		for i := range n {
			words = append(words, fmt.Sprintf("w%d", i))
		}
		question := strings.Join(words, " ")
		for i := range 6 {
			id := given[i*7].ID
			got := explained(t, far, far.Words(), question, id)
			b.asked.Store(0)
			again := explained(t, far, far.Words(), question, id)
			if most := int64(n/mostClauses + 1); b.asked.Load() > most {
				t.Errorf("%d words: %d searches, %d suffice", n, b.asked.Load(), most)
			}
			want := explained(t, near, near.Words(), question, id)
			if len(want) < 3 || len(got) != len(want) || len(again) != len(want) {
				t.Fatalf("%d words, %s: %d terms, then %d, want %d", n, id, len(got), len(again), len(want))
			}
			for j := range want {
				if math.Abs(got[j].Score-want[j].Score) < 1e-5 {
					got[j].Score = want[j].Score // sums of 32 bits, there and here
				}
				if fmt.Sprint(got[j]) != fmt.Sprint(want[j]) {
					t.Errorf("%d words, %s:\n%+v, want\n%+v", n, id, got[j], want[j])
				}
			}
		}
	}
}
