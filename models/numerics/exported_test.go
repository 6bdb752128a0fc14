package numerics

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/tiny"
)

// TestExportedModelsArePooled imports models that another program might have
// exported, one table in which each token's row is its vector, and computes by
// hand what must come out behind them.
func TestExportedModelsArePooled(t *testing.T) {
	start(t)
	const d = 4
	words := tiny.Vocabulary()
	table := make([]float32, d*len(words))
	for i := range table {
		table[i] = float32(i%7) - float32(i%5) + 0.5
	}
	row := func(id int) []float32 { return table[id*d : (id+1)*d] }
	texts := []text{{ids: []int{2, 30, 31, 3}}, {ids: []int{9}}, {ids: []int{5, 6, 7, 8, 10, 11}}}
	mean := func(x text) []float32 {
		out := make([]float32, d)
		for _, id := range x.ids {
			for j, v := range row(id) {
				out[j] += v / float32(len(x.ids))
			}
		}
		return out
	}
	unit := func(v []float32) []float32 {
		var squares float64
		for _, x := range v {
			squares += float64(x) * float64(x)
		}
		out := make([]float32, d)
		for j, x := range v {
			out[j] = float32(float64(x) / math.Sqrt(squares))
		}
		return out
	}
	yes, no := true, false
	for name, c := range map[string]struct {
		input   onnx.DataType
		opset   int64
		options convert.Options
		want    func(text) []float32
	}{
		"cls": {onnx.Int64, 14, convert.Options{Pooling: "cls", Normalise: &no},
			func(x text) []float32 { return row(x.ids[0]) }},
		"mean": {onnx.Int64, 18, convert.Options{Pooling: "mean", Normalise: &no}, mean},
		"mean, unit, old": {onnx.Int64, 9, convert.Options{Pooling: "mean", Normalise: &yes},
			func(x text) []float32 { return unit(mean(x)) }},
		"32-bit ids": {onnx.Int32, 14, convert.Options{Pooling: "mean", Normalise: &no}, mean},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(t.TempDir(), "bundle")
			export(t, dir, c.input, c.opset, table, d)
			if err := os.WriteFile(filepath.Join(dir, "vocab.txt"), []byte(strings.Join(words, "\n")), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := convert.Import(context.Background(), dir, out, c.options); err != nil {
				t.Fatal(err)
			}
			b, err := models.Load(out)
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range open(t, b, models.Question).encode(t, texts, 3, 40) {
				if diff := apart(got, c.want(texts[i])); diff > 1e-6 {
					t.Errorf("text %d: %v, not %v", i, got, c.want(texts[i]))
				}
			}
		})
	}
}

func export(t *testing.T, dir string, input onnx.DataType, opset int64, table []float32, d int) {
	t.Helper()
	tokens := []onnx.Dim{onnx.Varying("batch"), onnx.Varying("sequence")}
	m := onnx.New("another", opset, &onnx.Graph{
		Name: "exported",
		Nodes: []*onnx.Node{
			{Name: "look", Op: "Gather", Inputs: []string{"table", "input_ids"}, Outputs: []string{"last_hidden_state"}},
		},
		Initialisers: []*onnx.Tensor{onnx.Floats("table", table, len(table)/d, d)},
		Inputs: []*onnx.Value{
			onnx.NewValue("input_ids", input, tokens...),
			onnx.NewValue("attention_mask", input, tokens...),
		},
		Outputs: []*onnx.Value{onnx.NewValue("last_hidden_state", onnx.Float, append(tokens[:2:2], onnx.Fixed(d))...)},
	})
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "model.onnx"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
