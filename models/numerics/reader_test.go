package numerics

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	ort "github.com/yalue/onnxruntime_go"

	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/models/convert/bert"
	"example.org/conclave/models/convert/tiny"
)

// logits are what a reader says of a row.
type logits struct {
	IDs        []int     `json:"ids"`
	Start, End []float32 // of each token
	Select     float32
}

// readers runs a reader's graph on one batch, as graph.encode does.
func readers(tb testing.TB, b *models.Bundle) func(tb testing.TB, texts []text, extra int, filler int64) []logits {
	tb.Helper()
	r := b.Manifest.Reader.Graph
	outputs := []string{r.Start, r.End}
	if r.Select != "" {
		outputs = append(outputs, r.Select)
	}
	session, err := ort.NewDynamicAdvancedSession(
		b.Path(r.File), []string{r.InputIDs, r.AttentionMask, r.TokenTypeIDs}, outputs, nil,
	)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = session.Destroy() })
	g := &graph{inputs: 3}
	return func(tb testing.TB, texts []text, extra int, filler int64) []logits {
		inputs, width := g.batch(tb, texts, extra, filler)
		rows := int64(len(texts))
		given := []ort.Value{}
		for _, shape := range []ort.Shape{ort.NewShape(rows, int64(width)), ort.NewShape(rows, int64(width)),
			ort.NewShape(rows)}[:len(outputs)] {
			value, err := ort.NewEmptyTensor[float32](shape)
			if err != nil {
				tb.Fatal(err)
			}
			tb.Cleanup(func() { _ = value.Destroy() })
			given = append(given, value)
		}
		if err := session.Run(inputs, given); err != nil {
			tb.Fatal(err)
		}
		data := func(i int) []float32 { return given[i].(*ort.Tensor[float32]).GetData() }
		all := make([]logits, len(texts))
		for i, x := range texts {
			at := i * width
			n := len(x.ids)
			all[i] = logits{Start: slices.Clone(data(0)[at : at+n]), End: slices.Clone(data(1)[at : at+n])}
			if len(outputs) > 2 {
				all[i].Select = data(2)[i]
			}
		}
		return all
	}
}

// far returns the largest difference of two rows' logits.
func far(a, b logits) float64 {
	return max(apart(a.Start, b.Start), apart(a.End, b.End), apart([]float32{a.Select}, []float32{b.Select}))
}

// TestReadersAgreeWithTransformers: what PyTorch computes with published checkpoints
// (testdata/readers/make.py).
func TestReadersAgreeWithTransformers(t *testing.T) {
	start(t)
	folder := filepath.Join("testdata", "readers")
	data, err := os.ReadFile(filepath.Join(folder, "logits.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string][]logits
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dpr", "squad"} {
		b, err := convert.Import(
			t.Context(), filepath.Join(folder, name), filepath.Join(t.TempDir(), name), convert.Options{},
		)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Check(); err != nil {
			t.Error(err)
		}
		if dpr := name == "dpr"; b.Manifest.Kind != models.KindReader || (b.Manifest.Reader.Graph.Select != "") != dpr ||
			(b.Manifest.Reader.Template == "") != dpr {
			t.Errorf("%s: %+v", name, b.Manifest)
		}
		if len(golden[name]) == 0 {
			t.Fatalf("no rows of %s", name)
		}
		var rows []text
		for _, g := range golden[name] {
			x := text{ids: g.IDs, types: make([]int, len(g.IDs))}
			if name == "squad" {
				for i := slices.Index(g.IDs, 3) + 1; i < len(g.IDs); i++ {
					x.types[i] = 1
				}
			}
			rows = append(rows, x)
		}
		for i, got := range readers(t, b)(t, rows, 0, 0) {
			d := far(got, golden[name][i])
			t.Logf("%s, %d tokens: %.2g apart", name, len(rows[i].ids), d)
			if !(d <= 1e-5) {
				t.Errorf("%s, %d tokens: %g apart", name, len(rows[i].ids), d)
			}
		}
	}
}

// TestReaderGraphsComputeTheFormula in float32, whatever is beside a row, and in int8
// what is near.
func TestReaderGraphsComputeTheFormula(t *testing.T) {
	start(t)
	for i, o := range []tiny.Expert{{Reader: true}, {Reader: true, NoSelect: true, Dimension: 48, Heads: 8, Layers: 3, Activation: "gelu_new"}} {
		o.Seed = uint64(i)
		full := readers(t, write(t, o))
		o.Int8 = true
		short := readers(t, write(t, o))
		all := texts(rand.New(rand.NewPCG(uint64(i), 5)), len(tiny.Vocabulary()), 1, 2, 9, 33, 12, 200)
		got := full(t, all, 0, 0)
		rounded := short(t, all, 0, 0)
		padded := full(t, all, 30, 77)
		var worst float64
		for j, x := range all {
			want := readerRow(t, o, x)
			if d := far(got[j], want); d > 1e-5 {
				t.Errorf("%+v, %d tokens: %g apart", o, len(x.ids), d)
			}
			if d := far(padded[j], got[j]); d > 2e-6 {
				t.Errorf("%+v, %d tokens: padding moved it by %g", o, len(x.ids), d)
			}
			if got[j].Start[0] == rounded[j].Start[0] {
				t.Error("the int8 graph is not in int8")
			}
			worst = max(worst, far(got[j], rounded[j]))
		}
		if !(worst < 0.5) {
			t.Errorf("%+v: int8 moved a logit by %g", o, worst)
		}
		t.Logf("int8: a logit moved by %.2g", worst)
	}
}

// readerRow computes a row's logits by their formula from the last layer's states.
func readerRow(t *testing.T, o tiny.Expert, x text) (out logits) {
	t.Helper()
	c := o.Config()
	weights := o.Weights(models.Question)
	hidden, err := bert.Hidden(t.Context(), c, weights, x.ids, x.types)
	if err != nil {
		t.Fatal(err)
	}
	product := func(head string, rows, row int, h []float32) float32 {
		weight, err := weights.Tensor(fmt.Sprintf("reader.%s.weight", head), rows, c.Dimension)
		if err != nil {
			t.Fatal(err)
		}
		bias, err := weights.Tensor(fmt.Sprintf("reader.%s.bias", head), rows)
		if err != nil {
			t.Fatal(err)
		}
		sum := float64(bias[row])
		for j, v := range h {
			sum += float64(v) * float64(weight[row*c.Dimension+j])
		}
		return float32(sum)
	}
	for i := range x.ids {
		h := hidden[i*c.Dimension : (i+1)*c.Dimension]
		out.Start, out.End = append(out.Start, product("span", 2, 0, h)), append(out.End, product("span", 2, 1, h))
	}
	if !o.NoSelect {
		out.Select = product("select", 1, 0, hidden[:c.Dimension])
	}
	return out
}
