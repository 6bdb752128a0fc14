package numerics

import (
	"math"
	"testing"

	"example.org/conclave/models/convert/bert"
	"example.org/conclave/models/convert/tensors"
)

// reference returns a text's vector by the definitions of pooling, projection and unit
// length, over bert.Hidden.
func reference(t *testing.T, c bert.Config, weights tensors.Weights, head bert.Head, x text) []float32 {
	t.Helper()
	rows, err := bert.Hidden(t.Context(), c, weights, x.ids, x.types)
	if err != nil {
		t.Fatal(err)
	}
	d := c.Dimension
	pooled := make([]float64, d)
	for j := range pooled {
		pooled[j] = float64(rows[j])
		if head.Pooling == "mean" {
			for at := j + d; at < len(rows); at += d {
				pooled[j] += float64(rows[at])
			}
			pooled[j] /= float64(len(x.ids))
		}
	}
	linear := func(name string, out int) {
		weight, err := weights.Tensor(name+".weight", out, d)
		if err != nil {
			t.Fatal(err)
		}
		bias, err := weights.Tensor(name+".bias", out)
		if err != nil {
			t.Fatal(err)
		}
		sums := make([]float64, out)
		for o := range sums {
			sums[o] = float64(bias[o])
			for i, v := range pooled {
				sums[o] += float64(weight[o*d+i]) * v
			}
		}
		pooled = sums
	}
	if head.Pooling == "pooler" {
		linear("pooler.dense", d)
		for j, v := range pooled {
			pooled[j] = math.Tanh(v)
		}
	}
	if c.Projection > 0 {
		linear("encode_proj", c.Projection)
	}
	squares := 0.0
	for _, v := range pooled {
		squares += v * v
	}
	out := make([]float32, len(pooled))
	for j, v := range pooled {
		if head.Normalise {
			v /= math.Sqrt(squares)
		}
		out[j] = float32(v)
	}
	return out
}
