package fields

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"example.org/conclave/internal/conditions"
)

// BenchmarkMark marks the passages in a range of a number, of a million passages with different ones.
func BenchmarkMark(b *testing.B) {
	const n = 1_000_000
	rng := rand.New(rand.NewPCG(1, 2))
	builder := NewBuilder()
	for range n {
		if err := builder.Add(map[string]any{"price": rng.Float64()}); err != nil {
			b.Fatal(err)
		}
	}
	x, err := builder.Index()
	if err != nil {
		b.Fatal(err)
	}
	for _, share := range []float64{0.5, 0.05, 0.005, 0.0005} {
		b.Run(fmt.Sprint(100*share, "%"), func(b *testing.B) {
			in := conditions.Interval{
				Kind: conditions.Numbers, Low: conditions.NumberKey(0), High: conditions.NumberKey(share),
			}
			for b.Loop() {
				if err := x.Mark("price", in, make([]uint64, n/64)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
