package convert_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/tiny"
)

// export returns a model as another program might export it: one table, each
// token's row its vector.
func export() *onnx.Model {
	tokens := []onnx.Dim{onnx.Varying("batch"), onnx.Varying("sequence")}
	return onnx.New("pytorch", 14, &onnx.Graph{
		Name: "exported",
		Nodes: []*onnx.Node{
			{Name: "look", Op: "Gather", Inputs: []string{"table", "input_ids"}, Outputs: []string{"last_hidden_state"}},
		},
		Initialisers: []*onnx.Tensor{
			onnx.Floats("table", make([]float32, 4*len(tiny.Vocabulary())), len(tiny.Vocabulary()), 4),
		},
		Inputs: []*onnx.Value{
			onnx.NewValue("input_ids", onnx.Int64, tokens...),
			onnx.NewValue("attention_mask", onnx.Int64, tokens...),
		},
		Outputs: []*onnx.Value{onnx.NewValue("last_hidden_state", onnx.Float, append(tokens[:2:2], onnx.Fixed(4))...)},
	})
}

// exported writes m and a vocabulary.
func exported(t *testing.T, m *onnx.Model) string {
	t.Helper()
	dir := t.TempDir()
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"model.onnx": b.String(),
		"vocab.txt": strings.Join(tiny.Vocabulary(), "\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestImportExported(t *testing.T) {
	b := imported(t, exported(t, export()), convert.Options{Pooling: models.PoolingMean})
	m := b.Manifest
	if m.Dimension() != 4 || m.Vectors.Pooling != models.PoolingMean || !m.Vectors.Normalise ||
		m.Precision != models.PrecisionFP32 ||
		m.Vectors.Question.TokenTypeIDs != "" || m.Vectors.Question != m.Vectors.Passage || m.Vectors.Question.OneByOne {
		t.Errorf("%+v", m)
	}
	raw := false
	if m := imported(t, exported(t, export()), convert.Options{Pooling: models.PoolingCLS,
		Normalise: &raw}).Manifest; m.Vectors.Pooling != models.PoolingCLS ||
		m.Vectors.Normalise {
		t.Errorf("%+v", m)
	}

	narrow := export()
	for i := range narrow.Graph.Inputs {
		narrow.Graph.Inputs[i].Type.Tensor.Elem = onnx.Int32
	}
	if m := imported(t, exported(t, narrow), convert.Options{Pooling: models.PoolingCLS}).Manifest; m.Vectors.Question.InputIDs == "input_ids" {
		t.Errorf("64-bit ids would go to a 32-bit input: %+v", m.Vectors.Question)
	}

	several := export()
	several.Graph.Outputs = append(several.Graph.Outputs,
		onnx.NewValue("pooler_output", onnx.Float, onnx.Varying("batch"), onnx.Fixed(7)),
		onnx.NewValue("ids", onnx.Int64, onnx.Varying("batch")))
	m = imported(t, exported(t, several), convert.Options{Pooling: models.PoolingCLS}).Manifest
	if m.Dimension() != 4 || m.Vectors.Pooling != models.PoolingCLS {
		t.Errorf("%+v", m)
	}
	m = imported(t, exported(t, several), convert.Options{Pooling: models.PoolingPooler, Normalise: &raw}).Manifest
	if m.Dimension() != 7 || m.Vectors.Question.Embedding != "pooler_output" {
		t.Errorf("%+v", m)
	}
	if m := imported(t, exported(t, several), convert.Options{Output: "pooler_output",
		Normalise: &raw}).Manifest; m.Dimension() != 7 ||
		m.Vectors.Pooling != models.PoolingGraph {
		t.Errorf("%+v", m)
	}

	dynamic := export()
	dynamic.Graph.Nodes = append(
		dynamic.Graph.Nodes,
		&onnx.Node{
			Name:    "q",
			Op:      "DynamicQuantizeLinear",
			Inputs:  []string{"last_hidden_state"},
			Outputs: []string{"a", "b", "c"},
		},
		&onnx.Node{Name: "m", Op: "MatMulInteger", Inputs: []string{"a", "a"}, Outputs: []string{"d"}},
	)
	m = imported(t, exported(t, dynamic), convert.Options{Pooling: models.PoolingCLS}).Manifest
	if !m.Vectors.Question.OneByOne || m.Precision != models.PrecisionInt8 {
		t.Errorf("one scale for a batch went unnoticed: %+v", m)
	}
}

func TestImportExportedRefuses(t *testing.T) {
	for want, change := range map[string]func(*onnx.Graph){
		"position_ids": func(g *onnx.Graph) {
			g.Inputs = append(g.Inputs, onnx.NewValue("position_ids", onnx.Int64))
		},
		"attention_mask are needed": func(g *onnx.Graph) { g.Inputs = g.Inputs[:1] },
		"int64 or int32":            func(g *onnx.Graph) { g.Inputs[1].Type.Tensor.Elem = onnx.Float },
		"two axes":                  func(g *onnx.Graph) { g.Inputs[1] = onnx.NewValue("attention_mask", onnx.Int64, onnx.Varying("batch")) },
		"dynamic axes": func(g *onnx.Graph) {
			g.Inputs[0] = onnx.NewValue("input_ids", onnx.Int64, onnx.Varying("batch"), onnx.Fixed(128))
		},
		"for 1 texts a call": func(g *onnx.Graph) {
			g.Outputs[0] = onnx.NewValue("out", onnx.Float, onnx.Fixed(1), onnx.Varying("sequence"), onnx.Fixed(4))
		},
		"no fixed length": func(g *onnx.Graph) {
			g.Outputs[0] = onnx.NewValue("out", onnx.Float, onnx.Varying("batch"), onnx.Varying("sequence"), onnx.Varying("d"))
		},
		"which output has the vectors? It has last_hidden_state float32 of unknown shape": func(g *onnx.Graph) { g.Outputs[0].Type.Tensor.Shape = nil },
		"which output has the vectors? It has last_hidden_state int64":                    func(g *onnx.Graph) { g.Outputs[0].Type.Tensor.Elem = onnx.Int64 },
	} {
		m := export()
		change(m.Graph)
		refuse(t, exported(t, m), convert.Options{Pooling: models.PoolingCLS}, want)
	}
	old := export()
	old.Opsets[0].Version = 7
	refuse(t, exported(t, old), convert.Options{Pooling: models.PoolingCLS}, "operator set 7")
	refuse(t, exported(t, export()), convert.Options{Int8: true}, "model.safetensors")
	refuse(t, exported(t, export()), convert.Options{Output: "logits"}, `no output "logits"`)
	refuse(t, exported(t, export()), convert.Options{Pooling: "max"}, `not "max"`)
	dir := exported(t, export())
	if err := os.WriteFile(filepath.Join(dir, "model.onnx"), []byte("<html>404</html>"), 0o644); err != nil {
		t.Fatal(err)
	}
	refuse(t, dir, convert.Options{Pooling: models.PoolingCLS}, "not an ONNX model")
}

// TestExternalWeights imports a model whose table lies in another file, and
// refuses one that points out of its folder.
func TestExternalWeights(t *testing.T) {
	table := export().Graph.Initialisers[0]
	for location, want := range map[string]string{
		"weights.bin": "", "../weights.bin": "../weights.bin", "/etc/passwd": "/etc/passwd",
		"absent.bin": "absent.bin", "link.bin": "link.bin", "short.bin": "which has 8",
	} {
		m := export()
		m.Graph.Initialisers[0].Raw, m.Graph.Initialisers[0].Location = nil, 1
		m.Graph.Initialisers[0].External = []*onnx.Setting{
			{Key: "location", Value: location},
			{Key: "offset", Value: "16"},
			{Key: "length", Value: fmt.Sprint(len(table.Raw))},
		}
		dir := exported(t, m)
		outside := filepath.Join(t.TempDir(), "secret")
		for name, content := range map[string][]byte{
			filepath.Join(dir, "weights.bin"): append(make([]byte, 16), table.Raw...),
			filepath.Join(dir, "short.bin"):   make([]byte, 8),
			outside:                           append(make([]byte, 16), table.Raw...),
		} {
			if err := os.WriteFile(name, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(outside, filepath.Join(dir, "link.bin")); err != nil {
			t.Fatal(err)
		}
		if want != "" {
			refuse(t, dir, convert.Options{Pooling: models.PoolingCLS}, want)
			continue
		}
		b := imported(t, dir, convert.Options{Pooling: models.PoolingCLS})
		graph, err := os.ReadFile(b.Path("encoder.onnx"))
		if err != nil || !bytes.Contains(graph, table.Raw) {
			t.Errorf("the weights are not in the bundle's graph (%v)", err)
		}
	}
}
