package models_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"conclave/models"
	"conclave/models/onnx"
	"conclave/models/tiny"
)

// export is a model as another program might export it: one table, each
// token's row its vector.
func export() *onnx.Model {
	tokens := []onnx.Dim{onnx.Varying("batch"), onnx.Varying("sequence")}
	return &onnx.Model{
		Producer: "pytorch", Opsets: []onnx.Opset{{Version: 14}},
		Graph: onnx.Graph{
			Name:         "exported",
			Nodes:        []onnx.Node{{Name: "look", Op: "Gather", Inputs: []string{"table", "input_ids"}, Outputs: []string{"last_hidden_state"}}},
			Initialisers: []onnx.Tensor{onnx.Floats("table", make([]float32, 4*len(tiny.Vocabulary())), int64(len(tiny.Vocabulary())), 4)},
			Inputs:       []onnx.Value{{Name: "input_ids", Type: onnx.Int64, Shape: tokens}, {Name: "attention_mask", Type: onnx.Int64, Shape: tokens}},
			Outputs:      []onnx.Value{{Name: "last_hidden_state", Type: onnx.Float, Shape: append(tokens[:2:2], onnx.Fixed(4))}},
		},
	}
}

// exported writes m and a vocabulary.
func exported(t *testing.T, m *onnx.Model) string {
	t.Helper()
	dir := t.TempDir()
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"model.onnx": b.String(), "vocab.txt": strings.Join(tiny.Vocabulary(), "\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestImportExported(t *testing.T) {
	b := imported(t, exported(t, export()), models.ImportOptions{Pooling: models.PoolingMean})
	m := b.Manifest
	if m.Dimension != 4 || m.Pooling != models.PoolingMean || m.Normalise || m.Precision != models.PrecisionFP32 ||
		m.Question.TokenTypeIDs != "" || m.Question != m.Passage || m.Question.OneByOne {
		t.Errorf("%+v", m)
	}
	unit := true
	if m := imported(t, exported(t, export()), models.ImportOptions{Normalise: &unit}).Manifest; m.Pooling != models.PoolingCLS || !m.Normalise {
		t.Errorf("%+v", m)
	}

	narrow := export()
	for i := range narrow.Graph.Inputs {
		narrow.Graph.Inputs[i].Type = onnx.Int32
	}
	if m := imported(t, exported(t, narrow), models.ImportOptions{}).Manifest; m.Question.InputIDs == "input_ids" {
		t.Errorf("64-bit ids would go to a 32-bit input: %+v", m.Question)
	}

	several := export()
	several.Graph.Outputs = append(several.Graph.Outputs,
		onnx.Value{Name: "pooler_output", Type: onnx.Float, Shape: []onnx.Dim{onnx.Varying("batch"), onnx.Fixed(7)}},
		onnx.Value{Name: "ids", Type: onnx.Int64, Shape: []onnx.Dim{onnx.Varying("batch")}})
	if m := imported(t, exported(t, several), models.ImportOptions{}).Manifest; m.Dimension != 4 || m.Pooling != models.PoolingCLS {
		t.Errorf("%+v", m)
	}
	if m := imported(t, exported(t, several), models.ImportOptions{Pooling: models.PoolingPooler}).Manifest; m.Dimension != 7 || m.Question.Embedding != "pooler_output" {
		t.Errorf("%+v", m)
	}
	if m := imported(t, exported(t, several), models.ImportOptions{Output: "pooler_output"}).Manifest; m.Dimension != 7 || m.Pooling != models.PoolingGraph {
		t.Errorf("%+v", m)
	}

	dynamic := export()
	dynamic.Graph.Nodes = append(dynamic.Graph.Nodes, onnx.Node{Name: "q", Op: "DynamicQuantizeLinear", Inputs: []string{"last_hidden_state"}, Outputs: []string{"a", "b", "c"}},
		onnx.Node{Name: "m", Op: "MatMulInteger", Inputs: []string{"a", "a"}, Outputs: []string{"d"}})
	if m := imported(t, exported(t, dynamic), models.ImportOptions{}).Manifest; !m.Question.OneByOne || m.Precision != models.PrecisionInt8 {
		t.Errorf("one scale for a batch went unnoticed: %+v", m)
	}
}

func TestImportExportedRefuses(t *testing.T) {
	fixed := onnx.Fixed(128)
	for want, change := range map[string]func(*onnx.Graph){
		"position_ids": func(g *onnx.Graph) {
			g.Inputs = append(g.Inputs, onnx.Value{Name: "position_ids", Type: onnx.Int64})
		},
		"attention_mask are needed": func(g *onnx.Graph) { g.Inputs = g.Inputs[:1] },
		"int64 or int32":            func(g *onnx.Graph) { g.Inputs[1].Type = onnx.Float },
		"two axes":                  func(g *onnx.Graph) { g.Inputs[1].Shape = g.Inputs[1].Shape[:1] },
		"dynamic axes":              func(g *onnx.Graph) { g.Inputs[0].Shape = []onnx.Dim{onnx.Varying("batch"), fixed} },
		"for 1 texts a call": func(g *onnx.Graph) {
			g.Outputs[0].Shape = []onnx.Dim{onnx.Fixed(1), onnx.Varying("sequence"), onnx.Fixed(4)}
		},
		"no fixed length": func(g *onnx.Graph) {
			g.Outputs[0].Shape = []onnx.Dim{onnx.Varying("batch"), onnx.Varying("sequence"), onnx.Varying("d")}
		},
		"which output has the vectors? It has last_hidden_state float32 of unknown shape": func(g *onnx.Graph) { g.Outputs[0].Shape = nil },
		"which output has the vectors? It has last_hidden_state int64":                    func(g *onnx.Graph) { g.Outputs[0].Type = onnx.Int64 },
	} {
		m := export()
		change(&m.Graph)
		refuse(t, exported(t, m), models.ImportOptions{}, want)
	}
	old := export()
	old.Opsets[0].Version = 7
	refuse(t, exported(t, old), models.ImportOptions{}, "operator set 7")
	refuse(t, exported(t, export()), models.ImportOptions{Int8: true}, "model.safetensors")
	refuse(t, exported(t, export()), models.ImportOptions{Output: "logits"}, `no output "logits"`)
	refuse(t, exported(t, export()), models.ImportOptions{Pooling: "max"}, `not "max"`)
	dir := exported(t, export())
	if err := os.WriteFile(filepath.Join(dir, "model.onnx"), []byte("<html>404</html>"), 0o644); err != nil {
		t.Fatal(err)
	}
	refuse(t, dir, models.ImportOptions{}, "not an ONNX model")
}

// TestExternalWeights imports a model whose table lies in another file, and
// refuses one that points out of its folder.
func TestExternalWeights(t *testing.T) {
	m := export()
	table := m.Graph.Initialisers[0]
	m.Graph.Initialisers = nil
	rows := len(tiny.Vocabulary())
	for location, want := range map[string]string{
		"weights.bin": "", "../weights.bin": "outside the model's folder", "/etc/passwd": "outside the model's folder",
		"absent.bin": "absent.bin", "link.bin": "link.bin", "short.bin": "which has 8",
	} {
		dir := exported(t, m)
		path := filepath.Join(dir, "model.onnx")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, withExternal(t, data, table.Name, location, rows, 4), 0o644); err != nil {
			t.Fatal(err)
		}
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
			refuse(t, dir, models.ImportOptions{}, want)
			continue
		}
		b := imported(t, dir, models.ImportOptions{})
		graph, err := os.ReadFile(b.Path("encoder.onnx"))
		if err != nil || !bytes.Contains(graph, table.Raw) {
			t.Errorf("the weights are not in the bundle's graph (%v)", err)
		}
	}
}

// withExternal puts an initialiser into a model's graph whose elements begin
// at byte 16 of another file.
func withExternal(t *testing.T, model []byte, name, location string, dims ...int) []byte {
	t.Helper()
	varint := func(b []byte, field protowire.Number, v int) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
	}
	text := func(b []byte, field protowire.Number, s string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
	}
	size := 4
	var tensor []byte
	for _, d := range dims {
		tensor, size = varint(tensor, 1, d), size*d
	}
	tensor = text(varint(tensor, 2, int(onnx.Float)), 8, name)
	for _, pair := range [][2]string{{"location", location}, {"offset", "16"}, {"length", fmt.Sprint(size)}} {
		tensor = text(tensor, 13, string(text(text(nil, 1, pair[0]), 2, pair[1])))
	}
	tensor = varint(tensor, 14, 1)
	// The graph is the last field that Write writes, so its length alone
	// changes.
	var head []byte
	for rest := model; len(rest) > 0; {
		number, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			t.Fatal("no model")
		}
		if number != 7 {
			head, rest = append(head, rest[:n]...), rest[n:]
			continue
		}
		_, _, tag := protowire.ConsumeTag(rest)
		graph, _ := protowire.ConsumeBytes(rest[tag:])
		return text(head, 7, string(graph)+string(text(nil, 5, string(tensor))))
	}
	t.Fatal("no graph")
	return nil
}
