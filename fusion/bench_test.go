package fusion

import (
	"math/rand/v2"
	"testing"

	"example.org/conclave/internal/rank"
)

// fixture returns a question's work: sources with 100 hits each of a corpus of
// 43,378 passages, half of what each finds found by the others too.
func fixture(sources int) (lists [][]rank.Hit) {
	random := rand.New(rand.NewPCG(1, 2))
	for range sources {
		top := rank.NewTopK(100)
		seen := map[rank.Ordinal]bool{}
		for len(seen) < 100 {
			o := rank.Ordinal(random.IntN(43378))
			if len(seen)%2 == 0 {
				o = rank.Ordinal(random.IntN(200))
			}
			if !seen[o] {
				seen[o] = true
				top.Push(rank.Hit{Ordinal: o, Score: random.Float32()})
			}
		}
		lists = append(lists, top.Sorted())
	}
	return lists
}

// BenchmarkFuse measures a whole fusion, table and completion included.
func BenchmarkFuse(b *testing.B) {
	for _, m := range methods() {
		switch m.name {
		case "rrf", "muf raw exact", "muf raw min", "sum zscore exact", "hybrid raw exact", "hybrid raw min":
		default:
			continue
		}
		for _, sources := range []int{2, 8} {
			b.Run(m.name+map[int]string{2: "/2 sources", 8: "/8 sources"}[sources], func(b *testing.B) {
				lists := fixture(sources)
				var weighted []Source
				for i := range lists {
					weighted = append(weighted, Source{i, .5})
				}
				exact := make([]float32, 100*sources)
				c := new(Candidates)
				var missing []rank.Ordinal
				b.ReportAllocs()
				for b.Loop() {
					if err := c.Reset(lists); err != nil {
						b.Fatal(err)
					}
					for i := range lists {
						missing = c.Missing(i, missing[:0])
						if err := c.Complete(i, exact[:len(missing)]); err != nil {
							b.Fatal(err)
						}
					}
					if _, err := m.fuse(c, weighted, 10); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkMutualInformation measures 20 members over 100 hits, with scores of
// the spread of unit vectors.
func BenchmarkMutualInformation(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	scores := make([]float32, 20*100)
	for i := range scores {
		scores[i] = .5 + .2*random.Float32()
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := MutualInformation(scores, 20, .02); err != nil {
			b.Fatal(err)
		}
	}
}
