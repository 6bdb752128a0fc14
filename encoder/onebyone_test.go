package encoder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/tiny"
)

// dynamic returns a bundle imported from a graph that was quantised as ONNX
// Runtime's quantize_dynamic does it: a table of word vectors, and a linear
// layer in 8 bits whose activations get one scale for all rows of a call. The
// words differ much in size, so that the scale depends on who is there.
func dynamic(t *testing.T) *models.Bundle {
	t.Helper()
	const d = 8
	words := tiny.Vocabulary()
	table := make([]float32, d*len(words))
	for i := range table {
		size := float32(1)
		if word := i / d; word%7 == 0 { // among them [PAD]
			size = 40
		}
		table[i] = size * (float32(i*29%23) - 11) / 11
	}
	weights := make([]int8, d*d)
	for i := range weights {
		weights[i] = int8(i*37%41 - 20)
	}
	axes := []onnx.Dim{onnx.Varying("batch"), onnx.Varying("sequence")}
	node := func(op string, inputs, outputs []string, attributes ...*onnx.Attribute) *onnx.Node {
		return &onnx.Node{Name: outputs[0] + "." + op, Op: op, Inputs: inputs, Outputs: outputs, Attributes: attributes}
	}
	model := onnx.New("test", 14, &onnx.Graph{
		Name: "dynamic",
		Initialisers: []*onnx.Tensor{
			onnx.Floats("table", table, len(words), d), onnx.Bytes("weights", weights, d, d),
			onnx.Bytes("zero", []int8{0}), onnx.Floats("step", []float32{0.01}),
		},
		Inputs: []*onnx.Value{
			onnx.NewValue("input_ids", onnx.Int64, axes...),
			onnx.NewValue("attention_mask", onnx.Int64, axes...),
		},
		Outputs: []*onnx.Value{onnx.NewValue("last_hidden_state", onnx.Float, append(axes[:2:2], onnx.Fixed(d))...)},
		Nodes: []*onnx.Node{
			node("Gather", []string{"table", "input_ids"}, []string{"words"}),
			node("DynamicQuantizeLinear", []string{"words"}, []string{"small", "scale", "shift"}),
			node("MatMulInteger", []string{"small", "weights", "shift", "zero"}, []string{"sums"}),
			node("Cast", []string{"sums"}, []string{"floats"}, onnx.Int("to", int64(onnx.Float))),
			node("Mul", []string{"scale", "step"}, []string{"unit"}),
			node("Mul", []string{"floats", "unit"}, []string{"last_hidden_state"}),
		},
	})
	source := t.TempDir()
	file, err := os.Create(filepath.Join(source, "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(model.Write(file), file.Close()); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(source, "vocab.txt"), strings.Join(words, "\n"))
	b, err := convert.Import(
		context.Background(),
		source,
		filepath.Join(t.TempDir(), "dynamic"),
		convert.Options{
			Name:      "dynamic",
			Pooling:   models.PoolingMean,
			MaxTokens: models.MaxTokens{Question: 64, Passage: 128},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	if !b.Manifest.Vectors.Question.OneByOne || !b.Manifest.Vectors.Passage.OneByOne {
		t.Fatalf("the graph is not marked: %+v", b.Manifest.Vectors.Question)
	}
	return b
}

// A graph whose scale serves the whole batch is given one row at a time, so
// that the vector is the same, to the last bit, whoever else asks.
func TestRowsOfSuchGraphsRunAlone(t *testing.T) {
	r := library(t)
	b := dynamic(t)
	e := open(t, r, b, Running{})
	texts := make([]string, 60)
	alone := make([][]float32, len(texts))
	words := tiny.Vocabulary()
	for i := range texts {
		for k := range 1 + i%9 {
			texts[i] += words[20+(i*31+k*k*17)%(len(words)-20)] + " "
		}
		texts[i] += fmt.Sprint(i)
		alone[i] = question(t, e, texts[i])
	}

	// The fixture does what it is for: run together, the vectors are others.
	together := *b
	together.Manifest = b.Manifest.Clone()
	together.Manifest.Vectors.Question.OneByOne, together.Manifest.Vectors.Passage.OneByOne = false, false
	other := open(t, r, &together, Running{})
	rows := make([][]int32, len(texts))
	for i, text := range texts {
		var err error
		rows[i], err = e.tokenizer.Encode(text, 64)
		if err != nil {
			t.Fatal(err)
		}
	}
	spoilt, _, err := other.model.question.encodeRows(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for i := range spoilt {
		worst = max(worst, furthest(spoilt[i], alone[i]))
	}
	if worst < 1e-3 {
		t.Fatalf("rows that are run together differ by %g: the test shows nothing", worst)
	}

	passages := make([]Text, len(texts))
	for i, text := range texts {
		passages[i].Text = text
	}
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			for i := caller; i < len(texts); i += 3 {
				vector, err := e.EncodeQuestion(t.Context(), texts[i])
				if err != nil || !slices.Equal(vector, alone[i]) {
					t.Errorf("question %d among others: %v, alone %v (%v)", i, vector, alone[i], err)
				}
			}
		})
	}
	vectors, err := e.EncodePassages(t.Context(), passages)
	callers.Wait()
	if err != nil {
		t.Fatal(err)
	}
	direct, _, err := e.model.passage.encodeRows(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	for i := range texts {
		if !slices.Equal(vectors[i], alone[i]) {
			t.Errorf("passage %d among others: %v, alone %v", i, vectors[i], alone[i])
		}
		if !slices.Equal(direct[i], alone[i]) {
			t.Errorf("row %d of a batch: %v, alone %v", i, direct[i], alone[i])
		}
	}
	if s := e.Stats(); s.QuestionRuns != s.QuestionRows || s.PassageRuns != s.PassageRows ||
		s.PaddedTokens != s.RealTokens {
		t.Errorf("rows shared runs: %+v", s)
	}
}

// Rows that run one after the other still end when nobody waits for them.
func TestRowsThatRunAloneEndEarly(t *testing.T) {
	e := open(t, library(t), dynamic(t), Running{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := e.model.question.encodeRows(ctx, [][]int32{{2, 5, 3}, {2, 6, 3}}); !errors.Is(
		err, context.Canceled,
	) {
		t.Errorf("got %v", err)
	}
}
