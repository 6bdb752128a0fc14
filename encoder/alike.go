package encoder

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// LeastCosine returns the least cosine between the vectors that two encoders make of the same texts, as passages;
// for late encoders between those of a token. It is 1 without texts. Tokens that neither encoder reads are left
// out; a cosine with one zero vector counts as -1. It fails if an encoder does, or their vectors have different
// lengths.
func LeastCosine(ctx context.Context, a, b *Encoder, texts []Text) (float64, error) {
	encode := func(e *Encoder) ([][]float32, error) { return e.EncodePassages(ctx, texts) }
	x, err := encode(a)
	if err != nil {
		return 0, err
	}
	y, err := encode(b)
	if err != nil {
		return 0, err
	}
	least := 1.0
	for i := range x {
		if len(x[i]) != len(y[i]) {
			return 0, fmt.Errorf("%s gives %d numbers for a text, and %s %d", a.Name(), len(x[i]), b.Name(), len(y[i]))
		}
		tokens := slices.Collect(slices.Chunk(y[i], b.Dimension()))
		for n, u := range slices.Collect(slices.Chunk(x[i], a.Dimension())) {
			v := tokens[n]
			if vectorLength(u) == 0 && vectorLength(v) == 0 {
				continue // a token that neither reads
			}
			inner := 0.0
			for k := range u {
				inner += float64(u[k]) * float64(v[k])
			}
			cosine := inner / (vectorLength(u) * vectorLength(v))
			if math.IsNaN(cosine) {
				cosine = -1
			}
			least = min(least, cosine)
		}
	}
	return least, nil
}
