package onnx

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// small returns a model with each kind of thing that this package writes.
func small() *Model {
	tokens := []Dim{Varying("batch"), Varying("sequence")}
	m := New("test", 17, &Graph{
		Name: "small",
		Nodes: []*Node{
			{
				Name:       "look",
				Op:         "Gather",
				Inputs:     []string{"table", "input_ids"},
				Outputs:    []string{"hidden"},
				Attributes: []*Attribute{Int("axis", 0)},
			},
			{
				Name:       "scale",
				Op:         "FusedMatMul",
				Domain:     Microsoft,
				Inputs:     []string{"hidden", "", "square"},
				Outputs:    []string{"out"},
				Attributes: []*Attribute{Real("alpha", 0.5), IntList("perm", 1, 0)},
			},
		},
		Initialisers: []*Tensor{
			Floats("table", []float32{1, 2, 3, 4, 5, 6}, 3, 2), Floats("square", []float32{1, 0, 0, 1}, 2, 2),
			Ints("numbers", []int64{-1, 7}, 2), Bytes("bytes", []int8{-128, 127}, 2),
		},
		Inputs:  []*Value{NewValue("input_ids", Int64, tokens...), NewValue("attention_mask", Int64, tokens...)},
		Outputs: []*Value{NewValue("out", Float, append(tokens[:2:2], Fixed(2))...)},
	})
	m.Opsets = append(m.Opsets, &Opset{Domain: Microsoft, Version: 1})
	return m
}

func encode(tb testing.TB, m *Model) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestWriteRead(t *testing.T) {
	m := small()
	data := encode(t, m)
	e, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(e, m) {
		t.Errorf("read %+v, not %+v", e, m)
	}
	if !e.Uses("Relu", "Gather") || !e.Uses("FusedMatMul") || e.Uses("Relu") {
		t.Error("other operators than it has")
	}
	if again := encode(t, small()); !bytes.Equal(again, data) {
		t.Error("the same model gave other bytes")
	}
}

// TestBytes compares with bytes put together by hand from onnx.proto.
func TestBytes(t *testing.T) {
	m := New("p", 17, &Graph{
		Nodes: []*Node{
			{
				Name:       "n",
				Op:         "Op",
				Inputs:     []string{"x", ""},
				Outputs:    []string{"y"},
				Attributes: []*Attribute{Int("a", 0), Real("b", 0), IntList("c", 2, -1)},
			},
		},
		Name:         "g",
		Initialisers: []*Tensor{Ints("w", []int64{1}, 1), Floats("e", nil, 0)},
		Inputs:       []*Value{NewValue("x", Int64, Varying("b"), Fixed(300))},
	})
	const (
		attributes = "2a08" + "0a0161" + "1800" + "a00102" + "2a0b" + "0a0162" + "1500000000" + "a00101" + "2a13" + "0a0163" + "4002" + "40ffffffffffffffffff01" + "a00107"
		node       = "0a3b" + "0a0178" + "0a00" + "120179" + "1a016e" + "22024f70" + attributes
		input      = "5a15" + "0a0178" + "1210" + "0a0e" + "0807" + "120a" + "0a03120162" + "0a0308ac02"
		tensors    = "2a11" + "0801" + "1007" + "420177" + "4a08" + "0100000000000000" + "2a09" + "0800" + "1001" + "420165" + "4a00"
		want       = "0809" + "120170" + "42021011" + "3a75" + node + "120167" + input + tensors
	)
	if got := hex.EncodeToString(encode(t, m)); got != want {
		t.Errorf("%s, not\n%s", got, want)
	}
}

// TestChangedModel changes a model that was read and has fields that this package
// does not know.
func TestChangedModel(t *testing.T) {
	unknown := protowire.AppendBytes(protowire.AppendTag(nil, 14, protowire.BytesType), []byte("kept"))
	e, err := Read(append(encode(t, small()), unknown...))
	if err != nil {
		t.Fatal(err)
	}
	e.Graph.Outputs = []*Value{NewValue("embedding", Float, Varying("batch"), Fixed(2))}
	tail := Tail{Graph: e.Graph, Prefix: e.FreePrefix()}
	tail.Name(tail.UnitLength(tail.Mean("out", "attention_mask"), 2), "embedding")
	data := encode(t, e)
	if got, err := Read(data); err != nil || !reflect.DeepEqual(got, e) || !bytes.Contains(data, unknown) {
		t.Errorf("%+v, %v", got, err)
	}
}

// external returns small with its table in another file, as exporters do it.
func external(location string) *Model {
	m := small()
	m.Graph.Initialisers[0].Raw, m.Graph.Initialisers[0].Location = nil, 1
	m.Graph.Initialisers[0].External = []*Setting{
		{Key: "location", Value: location},
		{Key: "offset", Value: "8"},
		{Key: "length", Value: "24"},
	}
	return m
}

func TestExternalWeights(t *testing.T) {
	m, err := Read(encode(t, external("weights.bin")))
	if err != nil {
		t.Fatal(err)
	}
	table := m.Graph.Initialisers[0]
	if got, err := table.File(); err != nil || got == nil ||
		*got != (ExternalData{Location: "weights.bin", Offset: 8, Length: 24}) {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err := m.Graph.Initialisers[1].File(); got != nil || err != nil {
		t.Errorf("a weight in the model: %v, %v", got, err)
	}
	table.Embed(small().Graph.Initialisers[0].Raw)
	if !bytes.Equal(encode(t, m), encode(t, small())) {
		t.Error("the weights are not in the model")
	}
	table = external("x").Graph.Initialisers[0]
	table.External[1].Value = "-8"
	if _, err := table.File(); err == nil ||
		!strings.Contains(err.Error(), `"table": its offset in another file is "-8"`) {
		t.Errorf("a negative offset: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	good := encode(t, small())
	nameless := small()
	nameless.Graph.Inputs[0].Name = ""
	for name, data := range map[string][]byte{
		"nothing":   nil,
		"text":      []byte("hello, I am no model"),
		"cut short": good[:len(good)/2],
		"no graph":  {0x08, 0x09},
		"no name":   encode(t, nameless),
		"a group":   protowire.AppendTag(nil, 1, protowire.StartGroupType),
	} {
		if _, err := Read(data); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func TestOldStyleConstantsAreNoInputs(t *testing.T) {
	m := small()
	m.Graph.Inputs = append(m.Graph.Inputs, NewValue("table", Float))
	e, err := Read(encode(t, m))
	if err != nil || len(e.Given()) != 2 {
		t.Errorf("inputs %v, %v", e.Given(), err)
	}
}

func TestFreePrefix(t *testing.T) {
	m := small()
	m.Graph.Nodes[0].Outputs[0] = "conclave.hidden"
	e, err := Read(encode(t, m))
	if err != nil {
		t.Fatal(err)
	}
	if got := e.FreePrefix(); got != "_conclave." {
		t.Errorf("prefix %q", got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(encode(f, small()))
	f.Add(encode(f, external("weights.bin")))
	f.Add([]byte{0x08, 0x09, 0x3a, 0x00})
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Read(data)
		if err != nil {
			return
		}
		for _, x := range m.Graph.Initialisers {
			_, _ = x.File()
		}
		m.FreePrefix()
		again, err := Read(encode(t, m))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if !bytes.Equal(encode(t, m), encode(t, again)) || len(m.Given()) != len(again.Given()) {
			t.Fatalf("%v became %v", m, again)
		}
	})
}
