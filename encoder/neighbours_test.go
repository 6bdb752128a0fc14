package encoder

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"example.org/conclave/encoder/batcher"
	"example.org/conclave/models"
	"example.org/conclave/models/convert/tiny"
)

// Whoever else is being served, a question has the same vector: api.md's "the
// same request gives scores within 1e-5".
func TestNeighboursDoNotChangeAVector(t *testing.T) {
	r := library(t)
	for name, load := range map[string]func(*testing.T) *models.Bundle{
		"tiny":      func(t *testing.T) *models.Bundle { return bundle(t, tiny.Expert{}) },
		"tiny int8": func(t *testing.T) *models.Bundle { return bundle(t, tiny.Expert{Int8: true}) },
		"late":      func(t *testing.T) *models.Bundle { return bundle(t, tiny.Expert{Late: 16}) },
		"late int8": func(t *testing.T) *models.Bundle { return bundle(t, tiny.Expert{Late: 16, Int8: true}) },
		"fp32":      func(t *testing.T) *models.Bundle { return base(t, "fp32") },
		"int8":      func(t *testing.T) *models.Bundle { return base(t, "int8") },
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, r, load(t), Running{})
			random := rand.New(rand.NewPCG(5, 6))
			texts := make([]string, 48)
			alone, passage := make([][]float32, len(texts)), make([][]float32, len(texts))
			for i := range texts {
				texts[i] = someQuestion(random, 1+i%24)
				alone[i] = question(t, e, texts[i])
				// One model serves both sides, but a late expert weighs tokens
				// in questions alone.
				passage[i] = alone[i]
				if e.Late() {
					passage[i] = passages(t, e, Text{Text: texts[i]})[0]
				}
			}
			var mu sync.Mutex
			worst := 0.0
			see := func(far float64) {
				mu.Lock()
				defer mu.Unlock()
				worst = max(worst, far)
			}
			var callers sync.WaitGroup
			for caller := range 16 {
				callers.Go(func() {
					random := rand.New(rand.NewPCG(uint64(caller), 7))
					for range 4 {
						i := random.IntN(len(texts))
						vector, err := e.EncodeQuestion(t.Context(), texts[i])
						if err != nil {
							t.Error(err)
							return
						}
						see(furthest(vector, alone[i]))
						// A neighbour that nobody asked before.
						if _, err := e.EncodeQuestion(t.Context(), someQuestion(random, 1+random.IntN(40))); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all := make([]Text, len(texts))
			for i := range all {
				all[i].Text = texts[i]
			}
			vectors, err := e.EncodePassages(t.Context(), all)
			if err != nil {
				t.Fatal(err)
			}
			callers.Wait()
			for i := range vectors {
				see(furthest(vectors[i], passage[i]))
			}
			// The worst company there is: all in one batch, the shortest padded
			// to the longest.
			rows := make([][]int32, len(texts))
			for i, text := range texts {
				rows[i], err = e.tokenizer.Encode(text, 64)
				if err != nil {
					t.Fatal(err)
				}
			}
			vectors, err = e.model.runRows(t.Context(), batcher.Question, rows)
			if err != nil {
				t.Fatal(err)
			}
			for i := range vectors {
				see(furthest(vectors[i], alone[i]))
			}
			s := e.Stats()
			t.Logf(
				"%d rows in %d runs, components at most %.2g apart",
				s.QuestionRows+s.PassageRows,
				s.QuestionRuns+s.PassageRuns,
				worst,
			)
			if worst > 1e-5 {
				t.Errorf("neighbours change a component by %g, more than 1e-5", worst)
			}
		})
	}
}

// someQuestion returns a question of n words.
func someQuestion(random *rand.Rand, n int) string {
	words := strings.Fields(
		"what who when where how is are was the a of in river mountain doctor story review price privacy data child " +
			"wolf king city night health pain medicine camera battery screen policy law consent cookie email phone year capital largest first",
	)
	var text strings.Builder
	for range n {
		fmt.Fprintf(&text, "%s ", words[random.IntN(len(words))])
	}
	return text.String() + "?"
}
