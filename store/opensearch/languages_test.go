package opensearch

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
)

// TestLanguagesAsEmbedded: words in other languages find the same passages as in a folder: with the same scores, but in
// several languages, where a passage may have more forms than words and so another length to the cluster.
func TestLanguagesAsEmbedded(t *testing.T) {
	t.Parallel()
	given := []corpus.Passage{
		{ID: "de", Text: "Die alten Häuser am See wurden im Winter verkauft, und die Käufer zogen im Frühling ein."},
		{ID: "de2", Text: "Der Krieg war lange vorbei, als das Haus am See gebaut wurde."},
		{ID: "en", Text: "The old houses by the lake were sold in winter, and the buyers moved in during spring."},
		{ID: "en2", Text: "After the war the dice were cast, and the house by the lake was built."},
		{ID: "zh", Text: "湖边的老房子在冬天卖掉了，买家在春天搬了进去。"},
		{ID: "ja", Text: "湖のそばの古い家は冬に売られ、買い手は春に引っ越した。コンピューターもあった。"},
	}
	for name, questions := range map[string]map[string][]string{
		"unicode-en+de+unspaced": {
			"altes Haus": {"de", "de2"}, "house": {"en", "en2"}, "what was the war about": {"de2", "en2"}, "春天": {"ja", "zh"},
			"房子": {"zh"},
		},
		"unicode-unspaced": {"房子": {"zh"}, "コンピューター": {"ja"}, "春": {"ja", "zh"}, "winter": {"de", "en"}},
	} {
		analysis, err := forms.ParseAnalysis(name)
		if err != nil {
			t.Fatal(err)
		}
		options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4, Phrases: true, Analysis: analysis}}
		farCorpus, nearCorpus := built(t, fmt.Sprintf("languages-%d", analysis.Version()), given, 1, options)
		far, near := farCorpus.Acquire(), nearCorpus.Acquire()
		for question, want := range questions {
			hitsA, errA := far.Words().Search(t.Context(), question, len(given))
			hitsB, errB := near.Words().Search(t.Context(), question, len(given))
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			scores := map[string]float32{}
			idsB, of := byID(t, near, hitsB)
			for i, id := range idsB {
				scores[id] = of[i]
			}
			idsA, of := byID(t, far, hitsA)
			for i, id := range idsA {
				if name == "unicode-unspaced" && math.Abs(float64(of[i]-scores[id])) > 1e-5 {
					t.Errorf("%s: %q: %s has %v, in a folder %v", name, question, id, of[i], scores[id])
				}
			}
			slices.Sort(idsA)
			slices.Sort(idsB)
			if !slices.Equal(idsA, want) || !slices.Equal(idsB, want) {
				t.Errorf("%s: %q finds %q, in a folder %q, want %q", name, question, idsA, idsB, want)
			}
		}
		far.Release()
		near.Release()
	}
}
