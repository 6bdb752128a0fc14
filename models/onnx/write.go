package onnx

import (
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// irVersion is that of ONNX 1.14 (2023), which every runtime that conclave
// works with reads.
const irVersion = 9

// maxModel is the largest protobuf message there can be. A larger model keeps
// its weights in a file of their own, which conclave does not write.
const maxModel = math.MaxInt32

// Write writes the model. The same model gives the same bytes. Weights go
// from their tensors to w without another copy in memory.
func (m *Model) Write(w io.Writer) error {
	graph, err := m.Graph.frame()
	if err != nil {
		return err
	}
	graphSize := uint64(len(graph))
	heads := make([][]byte, len(m.Graph.Initialisers))
	for i := range m.Graph.Initialisers {
		t := &m.Graph.Initialisers[i]
		if err := t.check(); err != nil {
			return err
		}
		heads[i] = t.head()
		graphSize += uint64(len(heads[i]) + len(t.Raw))
	}

	var b []byte
	b = appendVarint(b, 1, irVersion)
	b = appendString(b, 2, m.Producer)
	for _, o := range m.Opsets {
		var set []byte
		if o.Domain != "" {
			set = appendString(set, 1, o.Domain)
		}
		set = appendVarint(set, 2, uint64(o.Version))
		b = appendBytes(b, 8, set)
	}
	b = protowire.AppendTag(b, 7, protowire.BytesType)
	b = protowire.AppendVarint(b, graphSize)
	if total := uint64(len(b)) + graphSize; total > maxModel {
		return fmt.Errorf("the model would be %d bytes long; an ONNX file holds at most %d", total, maxModel)
	}
	if _, err := w.Write(append(b, graph...)); err != nil {
		return err
	}
	for i := range m.Graph.Initialisers {
		if _, err := w.Write(heads[i]); err != nil {
			return err
		}
		if _, err := w.Write(m.Graph.Initialisers[i].Raw); err != nil {
			return err
		}
	}
	return nil
}

// frame is the graph message without its initialisers.
func (g *Graph) frame() ([]byte, error) {
	var b []byte
	for i := range g.Nodes {
		node, err := g.Nodes[i].encode()
		if err != nil {
			return nil, err
		}
		b = appendBytes(b, 1, node)
	}
	if g.Name != "" {
		b = appendString(b, 2, g.Name)
	}
	for _, v := range g.Inputs {
		b = appendBytes(b, 11, v.encode())
	}
	for _, v := range g.Outputs {
		b = appendBytes(b, 12, v.encode())
	}
	return b, nil
}

func (n *Node) encode() ([]byte, error) {
	var b []byte
	for _, s := range n.Inputs {
		b = appendString(b, 1, s)
	}
	for _, s := range n.Outputs {
		b = appendString(b, 2, s)
	}
	b = appendString(b, 3, n.Name)
	b = appendString(b, 4, n.Op)
	for _, a := range n.Attributes {
		encoded, err := a.encode()
		if err != nil {
			return nil, fmt.Errorf("node %q: %w", n.Name, err)
		}
		b = appendBytes(b, 5, encoded)
	}
	if n.Domain != "" {
		b = appendString(b, 7, n.Domain)
	}
	return b, nil
}

func (a *Attribute) encode() ([]byte, error) {
	b := appendString(nil, 1, a.Name)
	switch v := a.Value.(type) {
	case float32:
		b = protowire.AppendTag(b, 2, protowire.Fixed32Type)
		b = protowire.AppendFixed32(b, math.Float32bits(v))
		b = appendVarint(b, 20, 1)
	case int64:
		b = appendVarint(b, 3, uint64(v))
		b = appendVarint(b, 20, 2)
	case string:
		b = appendString(b, 4, v)
		b = appendVarint(b, 20, 3)
	case []int64:
		for _, x := range v {
			b = appendVarint(b, 8, uint64(x))
		}
		b = appendVarint(b, 20, 7)
	default:
		return nil, fmt.Errorf("attribute %q has the unsupported type %T", a.Name, a.Value)
	}
	return b, nil
}

// check keeps a tensor whose bytes do not fit its shape from being written.
func (t *Tensor) check() error {
	width := map[DataType]int64{Float: 4, Uint8: 1, Int8: 1, Int32: 4, Int64: 8, Bool: 1, Float16: 2, Double: 8}[t.Type]
	want := width
	for _, d := range t.Dims {
		want *= d
	}
	if width == 0 || want != int64(len(t.Raw)) {
		return fmt.Errorf("tensor %q: %s %v needs %d bytes and has %d", t.Name, t.Type, t.Dims, want, len(t.Raw))
	}
	return nil
}

// head is everything of the tensor's field in the graph that stands before
// the elements.
func (t *Tensor) head() []byte {
	var b []byte
	for _, d := range t.Dims {
		b = appendVarint(b, 1, uint64(d))
	}
	b = appendVarint(b, 2, uint64(t.Type))
	b = appendString(b, 8, t.Name)
	b = protowire.AppendTag(b, 9, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(len(t.Raw)))
	field := protowire.AppendTag(nil, 5, protowire.BytesType)
	field = protowire.AppendVarint(field, uint64(len(b)+len(t.Raw)))
	return append(field, b...)
}

func (v *Value) encode() []byte {
	tensor := appendVarint(nil, 1, uint64(v.Type))
	if v.Shape != nil {
		var shape []byte
		for _, d := range v.Shape {
			var dim []byte
			if d.Size >= 0 {
				dim = appendVarint(nil, 1, uint64(d.Size))
			} else if d.Name != "" {
				dim = appendString(nil, 2, d.Name)
			}
			shape = appendBytes(shape, 1, dim)
		}
		tensor = appendBytes(tensor, 2, shape)
	}
	b := appendString(nil, 1, v.Name)
	return appendBytes(b, 2, appendBytes(nil, 1, tensor))
}

func appendVarint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendString(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}
