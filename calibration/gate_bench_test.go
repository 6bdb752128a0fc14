package calibration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
)

// BenchmarkFitGate fits on questions of the size that a collection of many
// experts has: seven specialists of which two are asked, the base, words and
// phrases, a hundred hits each.
func BenchmarkFitGate(b *testing.B) {
	const asked, specialists, passages = 800, 7, 700
	random := rand.New(rand.NewPCG(1, 1))
	questions := make([]Question, asked)
	for i := range questions {
		answer := rank.Ordinal(random.IntN(passages))
		home := random.IntN(specialists)
		lists := make([][]rank.Hit, specialists+3)
		q := Question{ID: fmt.Sprint("q", i), Table: new(fusion.Candidates), Relevant: map[rank.Ordinal]float64{answer: 1}}
		for s := range lists {
			observed := fusion.ObservedSource{
				Column:      s,
				Kind:        fusion.Specialist,
				Familiarity: .3 + .1*random.Float64(),
				Confidence:  random.Float64(),
			}
			found := random.Perm(passages)[:100]
			if random.IntN(4) > 0 && !slices.Contains(found, int(answer)) {
				found[0] = int(answer)
			}
			for _, o := range found {
				lists[s] = append(lists[s], rank.Hit{Ordinal: rank.Ordinal(o), Score: random.Float32()})
			}
			lift := float32(.4)
			switch s {
			case home:
				observed.Familiarity += .2
				lift = .6
			case specialists:
				observed.Kind = fusion.Base
			case specialists + 1:
				observed.Kind = fusion.Lexical
			case specialists + 2:
				observed.Kind = fusion.Phrases
			}
			for j := range lists[s] {
				if lists[s][j].Ordinal == answer {
					lists[s][j].Score += lift
				}
				if !observed.Kind.Dense() {
					lists[s][j].Score *= 20
				}
			}
			rank.Sort(lists[s])
			q.Sources = append(q.Sources, observed)
		}
		if err := q.Table.Reset(lists); err != nil {
			b.Fatal(err)
		}
		for s := range lists {
			scores := make([]float32, len(q.Table.Missing(s, nil)))
			for j := range scores {
				scores[j] = random.Float32() / 2
			}
			if err := q.Table.Complete(s, scores); err != nil {
				b.Fatal(err)
			}
		}
		questions[i] = q
	}
	for b.Loop() {
		if _, err := FitGate(context.Background(), questions, GateOptions{Specialists: 2}); err != nil {
			b.Fatal(err)
		}
	}
}
