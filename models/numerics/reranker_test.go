package numerics

import (
	"math"
	"math/rand/v2"
	"testing"

	ort "github.com/yalue/onnxruntime_go"

	"example.org/conclave/models"
	"example.org/conclave/models/convert/bert"
	"example.org/conclave/models/convert/tiny"
)

// TestRerankerGraphsComputeTheFormula in float32, whatever is beside a row, and in int8 what is
// near.
func TestRerankerGraphsComputeTheFormula(t *testing.T) {
	start(t)
	o := tiny.Expert{Reranker: true, Dimension: 48, Heads: 8, Layers: 3, Seed: 4}
	full := scorer(t, write(t, o))
	o.Int8 = true
	short := scorer(t, write(t, o))
	all := texts(rand.New(rand.NewPCG(6, 5)), len(tiny.Vocabulary()), 1, 2, 9, 33, 12, 200)
	got, padded := full(all, 0, 0), full(all, 30, 77)
	rounded := short(all, 0, 0)
	for i, x := range all {
		want := rerankerScore(t, o, x)
		if d := math.Abs(float64(got[i]) - want); d > 1e-5 {
			t.Errorf("%d tokens: %g, not %g", len(x.ids), got[i], want)
		}
		if d := math.Abs(float64(padded[i] - got[i])); d > 2e-6 {
			t.Errorf("%d tokens: padding moved it by %g", len(x.ids), d)
		}
		if d := math.Abs(float64(rounded[i] - got[i])); d == 0 || d > 0.5 {
			t.Errorf("%d tokens: int8 moved it by %g", len(x.ids), d)
		}
	}
}

// scorer runs a reranker's graph on one batch, as graph.encode does.
func scorer(tb testing.TB, b *models.Bundle) func(texts []text, extra int, filler int64) []float32 {
	tb.Helper()
	r := b.Manifest.Reranker.Graph
	session := load(tb, b.Path(r.File), []string{r.InputIDs, r.AttentionMask, r.TokenTypeIDs}, r.Score)
	g := &graph{inputs: 3}
	return func(texts []text, extra int, filler int64) []float32 {
		inputs, _ := g.batch(tb, texts, extra, filler)
		value, err := ort.NewEmptyTensor[float32](ort.NewShape(int64(len(texts))))
		if err != nil {
			tb.Fatal(err)
		}
		defer func() { _ = value.Destroy() }()
		if err := session.Run(inputs, []ort.Value{value}); err != nil {
			tb.Fatal(err)
		}
		return append([]float32(nil), value.GetData()...)
	}
}

// rerankerScore computes a row's score by its formula from the last layer's states.
func rerankerScore(t *testing.T, o tiny.Expert, x text) float64 {
	t.Helper()
	c := o.Config()
	weights := o.Weights(models.Question)
	hidden, err := bert.Hidden(t.Context(), c, weights, x.ids, x.types)
	if err != nil {
		t.Fatal(err)
	}
	layer := func(name string, out int, in []float64) (sums []float64) {
		weight, err := weights.Tensor(name+".weight", out, c.Dimension)
		if err != nil {
			t.Fatal(err)
		}
		bias, err := weights.Tensor(name+".bias", out)
		if err != nil {
			t.Fatal(err)
		}
		for row := range out {
			sum := float64(bias[row])
			for j, v := range in {
				sum += v * float64(weight[row*c.Dimension+j])
			}
			sums = append(sums, sum)
		}
		return sums
	}
	first := make([]float64, c.Dimension)
	for j := range first {
		first[j] = float64(hidden[j])
	}
	pooled := layer(bert.RerankerDense, c.Dimension, first)
	for j, v := range pooled {
		pooled[j] = math.Tanh(v)
	}
	return layer(bert.RerankerScore, 1, pooled)[0]
}
