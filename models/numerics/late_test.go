package numerics

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"example.org/conclave/encoder/wordpiece"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/models/convert/bert"
	"example.org/conclave/models/convert/tensors"
	"example.org/conclave/models/convert/tiny"
)

// lateRows computes a late expert's rows by its formula, in float64 from the
// last layer's: a vector and an importance for each token.
func lateRows(t *testing.T, hidden []float32, dimension, late int, weights tensors.Weights) []float32 {
	t.Helper()
	tensor := func(name string, shape ...int) []float32 {
		values, err := weights.Tensor(name, shape...)
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
	projection := tensor("late.projection.weight", late, dimension)
	weight, bias := tensor("late.importance.weight", 1, dimension), tensor("late.importance.bias", 1)
	dot := func(a, b []float32) (sum float64) {
		for i := range a {
			sum += float64(a[i]) * float64(b[i])
		}
		return sum
	}
	var out []float32
	for ; len(hidden) > 0; hidden = hidden[dimension:] {
		h := hidden[:dimension]
		p := make([]float64, late)
		squares := 0.0
		for j := range p {
			p[j] = dot(h, projection[j*dimension:(j+1)*dimension])
			squares += p[j] * p[j]
		}
		for _, x := range p {
			out = append(out, float32(x/math.Sqrt(squares)))
		}
		out = append(out, float32(math.Log1p(math.Exp(dot(h, weight)/math.Sqrt(dot(h, h))+float64(bias[0])))))
	}
	return out
}

// TestLateGraphsComputeTheFormula in float32, and in int8 what is near.
func TestLateGraphsComputeTheFormula(t *testing.T) {
	start(t)
	for i, o := range []tiny.Expert{{Late: 8}, {Late: 64, Dimension: 48, Heads: 8, Layers: 3, Activation: "gelu_new"}, {Late: 4, Activation: "relu", Layers: 1}} {
		o.Seed = uint64(i)
		t.Run(fmt.Sprintf("%d,%s", o.Late, o.Config()), func(t *testing.T) {
			full := open(t, write(t, o), models.Question)
			o.Int8 = true
			short := open(t, write(t, o), models.Question)
			all := texts(rand.New(rand.NewPCG(uint64(i), 9)), len(tiny.Vocabulary()), 1, 2, 9, 33, 12, 200)
			got, rounded := full.encodeTokens(t, all, 0, 0), short.encodeTokens(t, all, 0, 0)
			sum, tokens := 0.0, 0
			for j, x := range all {
				hidden, err := bert.Hidden(context.Background(), o.Config(), o.Weights(models.Question), x.ids, x.types)
				if err != nil {
					t.Fatal(err)
				}
				c := o.Config()
				want := lateRows(t, hidden, c.Dimension, o.Late, o.Weights(models.Question))
				if d := apart(got[j], want); d > 5e-6 {
					t.Errorf("%d tokens: %g apart", len(x.ids), d)
				}
				if got[j][0] == rounded[j][0] {
					t.Error("the int8 graph is not in int8")
				}
				for at := 0; at < len(want); at += o.Late + 1 {
					a, b := want[at:at+o.Late+1], rounded[j][at:at+o.Late+1]
					sum += cosine(a[:o.Late], b[:o.Late])
					tokens++
					if ratio := b[o.Late] / a[o.Late]; !(ratio > 0.7 && ratio < 1.4) {
						t.Errorf("int8: an importance of %g, not %g", b[o.Late], a[o.Late])
					}
				}
			}
			if mean := sum / float64(tokens); !(mean > 0.98) {
				t.Errorf("int8: cosine %.4f on average", mean)
			} else {
				t.Logf("int8: cosine %.4f on average", mean)
			}
		})
	}
}

// TestLateNeighboursAndPaddingChangeNothing, whatever the padding holds.
func TestLateNeighboursAndPaddingChangeNothing(t *testing.T) {
	start(t)
	for _, o := range []tiny.Expert{{Late: 16}, {Late: 16, Int8: true}} {
		g := open(t, write(t, o), models.Question)
		unmoved(t, fmt.Sprintf("%+v", o), 10, g.encodeTokens)
	}
}

// TestLateTokensAgreeWithNumPy: what training/golden/make.py computed from the
// files as written.
func TestLateTokensAgreeWithNumPy(t *testing.T) {
	start(t)
	folder := filepath.Join("..", "..", "training", "golden")
	d, err := convert.OpenDelta(os.DirFS(filepath.Join(folder, "late")))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(folder, "late.tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden []struct {
		Text   string
		Tokens [][]float32
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden) == 0 {
		t.Fatal("no texts")
	}
	b, short := merged(t, d, filepath.Join(folder, "base"), false), merged(t, d, filepath.Join(folder, "base"), true)
	words, err := wordpiece.Open(b.Path(b.Manifest.Tokenizer), b.Manifest.LowerCase)
	if err != nil {
		t.Fatal(err)
	}
	var all []text
	for _, g := range golden {
		ids, err := words.Encode(g.Text, b.Manifest.Vectors.MaxTokens.Passage)
		if err != nil {
			t.Fatal(err)
		}
		var x text
		for _, id := range ids {
			x.ids = append(x.ids, int(id))
		}
		all = append(all, x)
	}
	got := open(t, b, models.Passage).encodeTokens(t, all, 0, 0)
	rounded := open(t, short, models.Question).encodeTokens(t, all, 0, 0)
	worst := 0.0
	least := 1.0
	width := b.Manifest.Dimension() + 1
	for i, g := range golden {
		if len(g.Tokens) != len(all[i].ids) {
			t.Fatalf("%q: %d tokens, and %d by NumPy", g.Text, len(all[i].ids), len(g.Tokens))
		}
		for j, want := range g.Tokens {
			worst = max(worst, apart(got[i][j*width:(j+1)*width], want))
			least = min(least, cosine(rounded[i][j*width:(j+1)*width-1], want[:width-1]))
		}
	}
	t.Logf("largest difference of a number %.2g, in int8 the least cosine of a token %.4f", worst, least)
	if !(worst <= 1e-5) {
		t.Errorf("a number is %g from NumPy's", worst)
	}
	if !(least >= 0.95) {
		t.Errorf("cosine %.4f in int8", least)
	}
}
