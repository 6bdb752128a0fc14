package numerics

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"example.org/conclave/encoder/wordpiece"
	"example.org/conclave/internal/testing/golden"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models"
	"example.org/conclave/models/convert/bert"
	"example.org/conclave/models/convert/safetensors"
)

type sentence struct {
	Text      string    `json:"text"`
	Embedding []float32 `json:"embedding"`
}

// sentences returns PyTorch's vectors of the base encoder and the texts' tokens.
func sentences(t *testing.T, b *models.Bundle) ([]sentence, []text) {
	t.Helper()
	all := golden.Lines[sentence](t, "golden/minilm.jsonl.gz")
	// The reference reads a word of more than 100 characters as unknown; here it has pieces.
	all = slices.DeleteFunc(all, func(s sentence) bool {
		return slices.ContainsFunc(
			strings.Fields(s.Text), func(word string) bool { return utf8.RuneCountInString(word) > 100 },
		)
	})
	words, err := wordpiece.Open(b.Path(b.Manifest.Tokenizer), b.Manifest.LowerCase)
	if err != nil {
		t.Fatal(err)
	}
	tokens := make([]text, len(all))
	for i, s := range all {
		ids, err := words.Encode(s.Text, 256)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			tokens[i].ids = append(tokens[i].ids, int(id))
		}
	}
	return all, tokens
}

// batches encodes in batches of mixed lengths.
func batches(t *testing.T, g *graph, all []text, size int) [][]float32 {
	var vectors [][]float32
	for i := 0; i < len(all); i += size {
		vectors = append(vectors, g.encode(t, all[i:min(i+size, len(all))], 0, 0)...)
	}
	return vectors
}

func TestBaseAgreesWithPyTorch(t *testing.T) {
	start(t)
	b := base(t, models.PrecisionFP32)
	want, tokens := sentences(t, b)
	g := open(t, b, models.Passage)
	var worst float64
	for i, got := range batches(t, g, tokens, 16) {
		worst = max(worst, apart(got, want[i].Embedding))
	}
	t.Logf("largest difference of a component over %d texts: %.2g", len(want), worst)
	if worst > 1e-4 {
		t.Errorf("a component is %g from PyTorch's", worst)
	}
}

func TestBaseInt8(t *testing.T) {
	start(t)
	b := base(t, models.PrecisionInt8)
	want, tokens := sentences(t, b)
	g := open(t, b, models.Passage)
	together := batches(t, g, tokens, 16)
	sum, least, moved := 0.0, 1.0, 0.0
	for i, got := range together {
		c := cosine(got, want[i].Embedding)
		sum = sum + c
		least = min(least, c)
		moved = max(moved, apart(got, g.encode(t, tokens[i:i+1], 0, 0)[0]))
	}
	mean := sum / float64(len(want))
	t.Logf(
		"cosine to PyTorch's float32: mean %.4f, least %.4f; a batch moves a component by %.2g at most",
		mean,
		least,
		moved,
	)
	if mean < 0.99 || least < 0.97 {
		t.Errorf("cosine %.4f on average, %.4f at least; 0.99 and 0.97 are needed", mean, least)
	}
	if moved > 1e-5 {
		t.Errorf("the rest of a batch moves a component by %g", moved)
	}
}

// checkpointWeights reads a checkpoint's tensors by their own names.
type checkpointWeights struct{ *safetensors.File }

func (w checkpointWeights) Tensor(name string, shape ...int) ([]float32, error) {
	return w.Floats(name, shape...)
}

// TestPlainGoAgreesWithPyTorch makes sure of the encoder that the tiny graphs
// are compared with.
func TestPlainGoAgreesWithPyTorch(t *testing.T) {
	b := base(t, models.PrecisionFP32)
	want, tokens := sentences(t, b)
	set, err := safetensors.OpenCheckpoint(testenv.Checkpoint(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = set.Close() }()
	c := bert.Config{
		Vocabulary:   30522,
		Dimension:    384,
		Layers:       6,
		Heads:        12,
		Intermediate: 1536,
		Positions:    512,
		TokenTypes:   2,
		Activation:   "gelu",
		LayerNormEps: 1e-12,
	}
	compared := 0
	for i, x := range tokens {
		if len(x.ids) > 12 || compared == 3 {
			continue
		}
		compared++
		got := reference(t, c, checkpointWeights{set}, bert.Head{Pooling: "mean", Normalise: true}, text{ids: x.ids})
		if d := apart(got, want[i].Embedding); d > 2e-6 {
			t.Errorf("%q: a component is %g from PyTorch's", want[i].Text, d)
		}
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
}
