// Package onnx writes ONNX models, and reads of existing ones what is needed
// to use them: inputs, outputs, shapes and operator sets. It knows the wire
// format (onnx.proto) and nothing about what a graph computes.
//
// Terms: a model holds one graph; a graph is a list of nodes in the order of
// computation, its initialisers (constant tensors, here the weights), and the
// values that go in and out. An operator set is a named, numbered collection
// of operators; the empty name is ONNX's own.
package onnx

import (
	"encoding/binary"
	"math"
)

// DataType is the element type of a tensor, numbered as in onnx.proto.
type DataType int32

// The element types that conclave writes or names in messages.
const (
	Float   DataType = 1
	Uint8   DataType = 2
	Int8    DataType = 3
	Int32   DataType = 6
	Int64   DataType = 7
	Bool    DataType = 9
	Float16 DataType = 10
	Double  DataType = 11
)

// String is the type's name as error messages show it.
func (t DataType) String() string {
	switch t {
	case Float:
		return "float32"
	case Uint8:
		return "uint8"
	case Int8:
		return "int8"
	case Int32:
		return "int32"
	case Int64:
		return "int64"
	case Bool:
		return "bool"
	case Float16:
		return "float16"
	case Double:
		return "float64"
	}
	return "another type"
}

// Microsoft is the operator set of ONNX Runtime's own (fused) operators.
const Microsoft = "com.microsoft"

// Model is a model to be written.
type Model struct {
	// Producer is the name of the program that made the model.
	Producer string
	// Opsets maps each operator set that is used to its version.
	Opsets []Opset
	Graph  Graph
}

// Opset names an operator set and its version.
type Opset struct {
	Domain  string
	Version int64
}

// Graph is the computation of a model.
type Graph struct {
	Name         string
	Nodes        []Node
	Initialisers []Tensor
	Inputs       []Value
	Outputs      []Value
}

// Node applies one operator. An empty input name leaves an optional input out.
type Node struct {
	Name       string
	Op         string
	Domain     string
	Inputs     []string
	Outputs    []string
	Attributes []Attribute
}

// Attribute is a constant parameter of a node; Value is an int64, float32,
// string or []int64.
type Attribute struct {
	Name  string
	Value any
}

// Tensor is a constant; Raw holds its elements in little-endian order.
type Tensor struct {
	Name string
	Type DataType
	Dims []int64
	Raw  []byte
}

// Value is what a graph takes or gives.
type Value struct {
	Name string
	Type DataType
	// Shape has one entry per axis. It is nil where the model does not say.
	Shape []Dim
}

// Dim is the length of an axis: a number, or a name where it varies.
type Dim struct {
	Size int64 // -1 where it varies
	Name string
}

// Fixed is an axis of n elements.
func Fixed(n int64) Dim { return Dim{Size: n} }

// Varying is an axis whose length each call chooses.
func Varying(name string) Dim { return Dim{Size: -1, Name: name} }

// Floats is a float32 tensor.
func Floats(name string, values []float32, dims ...int64) Tensor {
	raw := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(v))
	}
	return Tensor{Name: name, Type: Float, Dims: dims, Raw: raw}
}

// Ints is an int64 tensor.
func Ints(name string, values []int64, dims ...int64) Tensor {
	raw := make([]byte, 8*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint64(raw[8*i:], uint64(v))
	}
	return Tensor{Name: name, Type: Int64, Dims: dims, Raw: raw}
}

// Bytes is an int8 tensor.
func Bytes(name string, values []int8, dims ...int64) Tensor {
	raw := make([]byte, len(values))
	for i, v := range values {
		raw[i] = byte(v)
	}
	return Tensor{Name: name, Type: Int8, Dims: dims, Raw: raw}
}
