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
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

// TestFormsAsEmbedded: with the analysis Unicode, the hits, scores, upper bounds and
// explanations of words in other forms are those of a collection in a folder.
func TestFormsAsEmbedded(t *testing.T) {
	t.Parallel()
	words := []string{
		"José",
		"Jose\u0301",
		"Jose",
		"Núñez",
		"nunez",
		"wi-fi",
		"wifi",
		"fi",
		"ax-77",
		"ax77",
		"ax 77",
		"Straße",
		"strasse",
		"C++",
		"C#",
		".NET",
		"net",
		"node.js",
		"CO₂",
		"and/or",
	}
	const seed = 11
	random := rand.New(rand.NewPCG(seed, 0))
	var given []corpus.Passage
	for len(given) < 300 {
		var text []string
		for range 4 + random.IntN(9) {
			w := words[random.IntN(len(words))]
			if random.IntN(3) > 0 {
				w = []string{"river", "stone", "lake", "mountain", "cloud"}[random.IntN(5)]
			}
			text = append(text, w)
		}
		p := corpus.Passage{ID: fmt.Sprintf("p%03d", len(given)), Text: strings.Join(text, " , ")}
		// A passage with more forms than words has another length to the cluster.
		if len(forms.Unicode.Forms("", p.Text)) <= len(forms.Unicode.Words("", p.Text)) {
			given = append(given, p)
		}
	}
	options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4, Phrases: true, Analysis: forms.Unicode}}
	farCorpus, nearCorpus := built(t, "forms", given, 2, options)
	far, near := farCorpus.Acquire(), nearCorpus.Acquire()
	defer far.Release()
	defer near.Release()
	rows := 0
	for _, question := range []string{"jose", "José Nunez", "wifi", "wi-fi river", "AX-77", "AX77 lake", "strasse", "C++", ".net", "co2", "nodejs",
		"river stone", "nothing of this", "Straße ax77 jose\u0301 wifi"} {
		a, b := far.Words(), near.Words()
		boundA, errA := a.UpperBound(t.Context(), question)
		boundB, errB := b.UpperBound(t.Context(), question)
		if errA != nil || errB != nil || math.Abs(boundA-boundB) > 1e-5 {
			t.Errorf("%q: upper bounds %v and %v, %v, %v", question, boundA, boundB, errA, errB)
		}
		hitsA, errA := a.Search(t.Context(), question, len(given))
		hitsB, errB := b.Search(t.Context(), question, len(given))
		if errA != nil || errB != nil || len(hitsA) != len(hitsB) || len(hitsA) == 0 && question != "nothing of this" {
			t.Fatalf("%q: %d hits and %d, %v, %v", question, len(hitsA), len(hitsB), errA, errB)
		}
		scores := map[string]float32{}
		ids, of := byID(t, near, hitsB)
		for i, id := range ids {
			scores[id] = of[i]
		}
		ids, of = byID(t, far, hitsA)
		for i, id := range ids {
			if math.Abs(float64(of[i]-scores[id])) > 1e-5 {
				t.Errorf("%q: %s has %v, in a folder %v", question, id, of[i], scores[id])
			}
			if i < 3 {
				got, want := explained(t, far, a, question, id), explained(t, near, b, question, id)
				for j := range want {
					if j < len(got) && math.Abs(got[j].Score-want[j].Score) < 1e-5 {
						got[j].Score = want[j].Score // sums of 32 bits, there and here
					}
					if want[j].For != "" {
						rows++
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%q in %s:\n%+v, want\n%+v", question, id, got, want)
				}
			}
		}
		again := make([]float32, len(hitsA))
		ordinals := make([]rank.Ordinal, len(hitsA))
		for i, h := range hitsA {
			ordinals[i] = h.Ordinal
		}
		other := farCorpus.Acquire()
		if err := other.Words().Scores(t.Context(), question, ordinals, again); err != nil {
			t.Fatal(err)
		}
		for i, h := range hitsA {
			if math.Abs(float64(h.Score-again[i])) > 1e-6 {
				t.Errorf("%q: a score is %v, and asked for by itself %v", question, h.Score, again[i])
			}
		}
		other.Release()
	}
	if rows < 10 {
		t.Errorf("only %d explanations are of other forms", rows)
	}
}
