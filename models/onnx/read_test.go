package onnx

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// small is a model with each kind of thing that this package writes.
func small() *Model {
	tokens := []Dim{Varying("batch"), Varying("sequence")}
	return &Model{
		Producer: "test",
		Opsets:   []Opset{{Version: 17}, {Domain: Microsoft, Version: 1}},
		Graph: Graph{
			Name: "small",
			Nodes: []Node{
				{Name: "look", Op: "Gather", Inputs: []string{"table", "input_ids"}, Outputs: []string{"hidden"}, Attributes: []Attribute{{"axis", int64(0)}}},
				{Name: "scale", Op: "FusedMatMul", Domain: Microsoft, Inputs: []string{"hidden", "", "square"}, Outputs: []string{"out"},
					Attributes: []Attribute{{"alpha", float32(0.5)}, {"note", "a b"}, {"perm", []int64{1, 0}}}},
			},
			Initialisers: []Tensor{
				Floats("table", []float32{1, 2, 3, 4, 5, 6}, 3, 2), Floats("square", []float32{1, 0, 0, 1}, 2, 2),
				Ints("numbers", []int64{-1, 7}, 2), Bytes("bytes", []int8{-128, 127}, 2),
			},
			Inputs:  []Value{{Name: "input_ids", Type: Int64, Shape: tokens}, {Name: "attention_mask", Type: Int64, Shape: tokens}},
			Outputs: []Value{{Name: "out", Type: Float, Shape: append(tokens[:2:2], Fixed(2))}},
		},
	}
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
	if !reflect.DeepEqual(e.Inputs, m.Graph.Inputs) || !reflect.DeepEqual(e.Outputs, m.Graph.Outputs) || !reflect.DeepEqual(e.Opsets, m.Opsets) {
		t.Errorf("read %+v %+v %+v", e.Inputs, e.Outputs, e.Opsets)
	}
	if !e.Operators["Gather"] || !e.Operators["FusedMatMul"] || len(e.Operators) != 2 {
		t.Errorf("operators %v", e.Operators)
	}
	if again := encode(t, small()); !bytes.Equal(again, data) {
		t.Error("the same model gave other bytes")
	}
}

// TestBytes holds the encoding of one value against bytes put together by
// hand from onnx.proto: field 1 name "x", field 2 type { field 1 tensor {
// field 1 elem_type 7, field 2 shape { dim { dim_param "b" }, dim { dim_value
// 300 } } } }.
func TestBytes(t *testing.T) {
	v := Value{Name: "x", Type: Int64, Shape: []Dim{Varying("b"), Fixed(300)}}
	const want = "0a0178" + "1210" + "0a0e" + "0807" + "120a" + "0a03120162" + "0a0308ac02"
	if got := hex.EncodeToString(v.encode()); got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

func TestWriteRefuses(t *testing.T) {
	m := small()
	m.Graph.Initialisers[0].Raw = m.Graph.Initialisers[0].Raw[:20]
	if err := m.Write(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), `"table"`) {
		t.Errorf("a tensor without all its bytes: %v", err)
	}
	m = small()
	m.Graph.Nodes[0].Attributes[0].Value = 1.5
	if err := m.Write(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), `"axis"`) {
		t.Errorf("an attribute of an unknown type: %v", err)
	}
}

func TestExtend(t *testing.T) {
	e, err := Read(encode(t, small()))
	if err != nil {
		t.Fatal(err)
	}
	x := Extension{
		Outputs: []Value{{Name: "embedding", Type: Float, Shape: []Dim{Varying("batch"), Fixed(2)}}},
		Inputs:  []Value{{Name: "wide", Type: Int64}},
	}
	x.Before.Nodes = []Node{{Name: "narrow", Op: "Cast", Inputs: []string{"wide"}, Outputs: []string{"input_ids"}}}
	tail := Tail{Graph: &x.After, Prefix: e.FreePrefix()}
	tail.Name(tail.UnitLength(tail.Mean("out", "attention_mask"), 2), "embedding")
	var b bytes.Buffer
	if err := e.Extend(&b, x); err != nil {
		t.Fatal(err)
	}
	got, err := Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Inputs, x.Inputs) || !reflect.DeepEqual(got.Outputs, x.Outputs) {
		t.Errorf("inputs %v, outputs %v", got.Inputs, got.Outputs)
	}
	// Nodes stand in the order of computation.
	var order []string
	for _, f := range got.graph {
		if f.number == 1 {
			all, _ := fields(f.value)
			for _, part := range all {
				if part.number == 4 {
					order = append(order, string(part.value))
				}
			}
		}
	}
	if order[0] != "Cast" || order[1] != "Gather" || order[2] != "FusedMatMul" || order[len(order)-1] != "Identity" {
		t.Errorf("nodes %v", order)
	}
}

// external is small with its table in another file, as exporters do it.
func external(tb testing.TB, location string) []byte {
	m := small()
	m.Graph.Initialisers = m.Graph.Initialisers[1:]
	var t []byte
	t = appendVarint(appendVarint(t, 1, 3), 1, 2)
	t = appendVarint(t, 2, uint64(Float))
	t = appendString(t, 8, "table")
	for _, pair := range [][2]string{{"location", location}, {"offset", "8"}, {"length", "24"}} {
		t = appendBytes(t, 13, appendString(appendString(nil, 1, pair[0]), 2, pair[1]))
	}
	t = appendVarint(t, 14, 1)
	data := encode(tb, m)
	// A second graph field would be a second graph: put the tensor in the one.
	all, err := fields(data)
	if err != nil {
		tb.Fatal(err)
	}
	var out []byte
	for _, f := range all {
		if f.number == 7 {
			out = appendBytes(out, 7, append(append([]byte{}, f.value...), appendBytes(nil, 5, t)...))
		} else {
			out = append(out, f.raw...)
		}
	}
	return out
}

func TestExternalWeightsAreTakenIn(t *testing.T) {
	e, err := Read(external(t, "weights.bin"))
	if err != nil {
		t.Fatal(err)
	}
	want := External{Tensor: "table", Location: "weights.bin", Offset: 8, Length: 24}
	if len(e.External) != 1 || e.External[0] != want {
		t.Fatalf("external %+v", e.External)
	}
	if err := e.Extend(&bytes.Buffer{}, Extension{}); err == nil || !strings.Contains(err.Error(), "weights.bin") {
		t.Errorf("without a way to fetch: %v", err)
	}
	raw := Floats("", []float32{1, 2, 3, 4, 5, 6}).Raw
	var b bytes.Buffer
	if err := e.Extend(&b, Extension{Fetch: func(x External) ([]byte, error) { return raw, nil }}); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(b.Bytes()); err != nil || len(got.External) != 0 || !bytes.Contains(b.Bytes(), raw) {
		t.Errorf("afterwards: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	good := encode(t, small())
	for name, data := range map[string][]byte{
		"nothing":       nil,
		"text":          []byte("hello, I am no model"),
		"cut short":     good[:len(good)/2],
		"two graphs":    append(good[:len(good):len(good)], appendBytes(nil, 7, nil)...),
		"negative axis": appendBytes(appendVarint(nil, 1, 9), 7, appendBytes(nil, 11, appendBytes(appendString(nil, 1, "x"), 2, appendBytes(nil, 1, appendBytes(nil, 2, appendBytes(nil, 1, appendVarint(nil, 1, 1<<63))))))),
		"a group":       protowire.AppendTag(nil, 1, protowire.StartGroupType),
	} {
		if _, err := Read(data); err == nil {
			t.Errorf("%s was read", name)
		}
	}
	if _, err := Read(bytes.Repeat([]byte{0x08, 0x01}, maxFields+1)); err == nil || !strings.Contains(err.Error(), "fields") {
		t.Errorf("very many fields: %v", err)
	}
}

func TestOldStyleConstantsAreNoInputs(t *testing.T) {
	m := small()
	m.Graph.Inputs = append(m.Graph.Inputs, Value{Name: "table", Type: Float})
	e, err := Read(encode(t, m))
	if err != nil || len(e.Inputs) != 2 {
		t.Errorf("inputs %v, %v", e.Inputs, err)
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
	f.Add(external(f, "weights.bin"))
	f.Add([]byte{0x08, 0x09, 0x3a, 0x00})
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Read(data)
		if err != nil {
			return
		}
		var b bytes.Buffer
		fetch := func(External) ([]byte, error) { return []byte{1, 2, 3}, nil }
		if err := e.Extend(&b, Extension{Fetch: fetch}); err != nil {
			t.Fatalf("a model that was read cannot be written: %v", err)
		}
		again, err := Read(b.Bytes())
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if !reflect.DeepEqual(e.Inputs, again.Inputs) || !reflect.DeepEqual(e.Outputs, again.Outputs) || len(again.External) != 0 {
			t.Fatalf("%v %v became %v %v", e.Inputs, e.Outputs, again.Inputs, again.Outputs)
		}
	})
}
