package onnx

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
)

// irVersion is the file format's version of ONNX 1.14 (2023), which every supported runtime reads.
const irVersion = 9

// maxModel is the largest number of bytes of a protobuf message. A larger model keeps its weights in a file of their
// own, which conclave does not write.
const maxModel = math.MaxInt32

// message makes the types that embed it protobuf messages. The protobuf library takes the fields from their tags.
type message struct{}

// Reset does nothing; messages of the protobuf library have it.
func (*message) Reset() {}

// String returns the same words for each message; messages of the protobuf library have it.
func (*message) String() string { return "a message of onnx.proto" }

// ProtoMessage does nothing; it marks a message of the protobuf library.
func (*message) ProtoMessage() {}

// Read parses a model from the bytes of a file, which need not be trusted. It fails for bytes that are no ONNX
// model, a model without a graph, and an input or output without a name. What the graph computes is not checked.
func Read(data []byte) (*Model, error) {
	m := &Model{}
	if err := proto.Unmarshal(data, protoadapt.MessageV2Of(m)); err != nil {
		return nil, fmt.Errorf("not an ONNX model: %w", err)
	}
	if m.Graph == nil || m.IRVersion < 1 {
		return nil, fmt.Errorf("not an ONNX model: it has no graph, or its format version %d is none", m.IRVersion)
	}
	if slices.ContainsFunc(slices.Concat(m.Graph.Inputs, m.Graph.Outputs), func(v *Value) bool { return v.Name == "" }) {
		return nil, errors.New("an input or output of the model has no name")
	}
	return m, nil
}

// Write writes the model to w. The same model gives the same bytes. Weights are written from their tensors, without
// another copy in memory. It fails, with nothing written, if the model would be longer than a file of the format
// can be (2 GiB).
func (m *Model) Write(w io.Writer) error {
	model, graph := *m, *m.Graph
	model.Graph, graph.Initialisers = nil, nil
	head, err := proto.Marshal(protoadapt.MessageV2Of(&model))
	if err != nil {
		return err
	}
	frame, err := proto.Marshal(protoadapt.MessageV2Of(&graph))
	if err != nil {
		return err
	}
	parts := [][]byte{frame}
	size := uint64(len(frame))
	for _, t := range m.Graph.Initialisers {
		tensor, err := t.headBytes()
		if err != nil {
			return err
		}
		parts = append(parts, tensor, t.Raw)
		size = size + uint64(len(tensor)+len(t.Raw))
	}
	head = protowire.AppendVarint(protowire.AppendTag(head, 7, protowire.BytesType), size)
	if total := uint64(len(head)) + size; total > maxModel {
		return fmt.Errorf("the model would be %d bytes long; an ONNX file holds at most %d", total, maxModel)
	}
	for _, part := range slices.Insert(parts, 0, head) {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// headBytes returns the encoding of the tensor's field in the graph without its raw elements, which the caller has to
// write after it. It fails if the tensor cannot be encoded.
func (t *Tensor) headBytes() ([]byte, error) {
	tensor := *t
	tensor.Raw = nil
	b, err := proto.Marshal(protoadapt.MessageV2Of(&tensor))
	if t.Raw != nil {
		b = protowire.AppendVarint(protowire.AppendTag(b, 9, protowire.BytesType), uint64(len(t.Raw)))
	}
	field := protowire.AppendTag(nil, 5, protowire.BytesType)
	return append(protowire.AppendVarint(field, uint64(len(b)+len(t.Raw))), b...), err
}

// Given returns the inputs that a caller has to give, in the graph's order: without the constants that old
// exporters list among them.
func (m *Model) Given() []*Value {
	return slices.DeleteFunc(slices.Clone(m.Graph.Inputs), func(v *Value) bool {
		return slices.ContainsFunc(m.Graph.Initialisers, func(t *Tensor) bool { return t.Name == v.Name })
	})
}

// Uses reports whether the graph has a node with one of the operators, of any operator set. Graphs inside control
// flow are not searched.
func (m *Model) Uses(operators ...string) bool {
	return slices.ContainsFunc(m.Graph.Nodes, func(n *Node) bool { return slices.Contains(operators, n.Op) })
}

// FreePrefix returns a prefix, "conclave." with as many "_" before it as it takes, with which no value's name in
// the model begins.
func (m *Model) FreePrefix() string {
	var names []string
	for _, n := range m.Graph.Nodes {
		names = append(names, n.Outputs...)
	}
	for _, v := range slices.Concat(m.Graph.Inputs, m.Graph.Outputs) {
		names = append(names, v.Name)
	}
	for _, t := range m.Graph.Initialisers {
		names = append(names, t.Name)
	}
	prefix := "conclave."
	for slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, prefix) }) {
		prefix = "_" + prefix
	}
	return prefix
}

// ExternalData is the place of a tensor's elements in another file than the model's.
type ExternalData struct {
	// Location is a path from the model's folder.
	Location string
	// Offset and Length are in bytes; a Length of -1 is up to the file's end.
	Offset, Length int64
}

// File returns where the tensor's elements are in another file; nil, without an error, if they are in the model. It
// fails if the offset or length is no number of bytes.
func (t *Tensor) File() (*ExternalData, error) {
	if t.Location != 1 {
		return nil, nil
	}
	f := &ExternalData{Length: -1}
	for _, s := range t.External {
		var number *int64
		switch s.Key {
		case "location":
			f.Location = s.Value
		case "offset":
			number = &f.Offset
		case "length":
			number = &f.Length
		}
		if number != nil {
			if _, err := fmt.Sscan(s.Value, number); err != nil || *number < 0 {
				return nil, fmt.Errorf("the weight %q: its %s in another file is %q, not a number of bytes", t.Name, s.Key, s.Value)
			}
		}
	}
	return f, nil
}

// Embed makes raw, which is kept, the tensor's elements, so that they are in the model and no longer in another
// file.
func (t *Tensor) Embed(raw []byte) { t.Raw, t.External, t.Location = raw, nil, 0 }
