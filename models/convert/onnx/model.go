// Package onnx writes ONNX models, and reads and changes those of other
// programs. It knows the messages of onnx.proto as far as conclave uses them and
// nothing about what a graph computes. Fields that it does not know are kept.
//
// Terms: a model holds one graph. A graph is a list of nodes in the order of
// computation, its initialisers (constant tensors, here the weights), and the
// values that go in and out. An operator set is a named, numbered collection
// of operators. The empty name is ONNX's own.
package onnx

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
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

// String returns the type's name as error messages show it: "float32"; "another type" for one that has no constant
// here.
func (t DataType) String() string {
	name, ok := map[DataType]string{
		Float: "float32", Uint8: "uint8", Int8: "int8", Int32: "int32", Int64: "int64", Bool: "bool",
		Float16: "float16", Double: "float64",
	}[t]
	if !ok {
		return "another type"
	}
	return name
}

// Microsoft is the operator set of ONNX Runtime's own (fused) operators.
const Microsoft = "com.microsoft"

// Model is a whole file. Models that New makes and Read reads have a graph.
type Model struct {
	message
	// IRVersion is the version of the file format.
	IRVersion int64 `protobuf:"varint,1,opt,name=ir_version,proto3"`
	// Producer is the name of the program that made the model.
	Producer         string   `protobuf:"bytes,2,opt,name=producer_name,proto3"`
	Graph            *Graph   `protobuf:"bytes,7,opt,name=graph"`
	Opsets           []*Opset `protobuf:"bytes,8,rep,name=opset_import"`
	XXX_unrecognized []byte
}

// Opset names an operator set that the graph uses, and its version.
type Opset struct {
	Domain           string `protobuf:"bytes,1,opt,name=domain,proto3"`
	Version          int64  `protobuf:"varint,2,opt,name=version,proto3"`
	XXX_unrecognized []byte
}

// Graph is the computation of a model.
type Graph struct {
	message
	Nodes            []*Node   `protobuf:"bytes,1,rep,name=node"`
	Name             string    `protobuf:"bytes,2,opt,name=name,proto3"`
	Initialisers     []*Tensor `protobuf:"bytes,5,rep,name=initializer"`
	Inputs           []*Value  `protobuf:"bytes,11,rep,name=input"`
	Outputs          []*Value  `protobuf:"bytes,12,rep,name=output"`
	XXX_unrecognized []byte
}

// Node applies one operator. An empty input name leaves an optional input out.
type Node struct {
	Inputs           []string     `protobuf:"bytes,1,rep,name=input"`
	Outputs          []string     `protobuf:"bytes,2,rep,name=output"`
	Name             string       `protobuf:"bytes,3,opt,name=name,proto3"`
	Op               string       `protobuf:"bytes,4,opt,name=op_type,proto3"`
	Attributes       []*Attribute `protobuf:"bytes,5,rep,name=attribute"`
	Domain           string       `protobuf:"bytes,7,opt,name=domain,proto3"`
	XXX_unrecognized []byte
}

// Attribute is a constant parameter of a node; see Int, Real and IntList.
type Attribute struct {
	Name             *string  `protobuf:"bytes,1,opt,name=name"`
	Real             *float32 `protobuf:"fixed32,2,opt,name=f"`
	Int              *int64   `protobuf:"varint,3,opt,name=i"`
	IntList          []int64  `protobuf:"varint,8,rep,name=ints"`
	Type             *int32   `protobuf:"varint,20,opt,name=type"`
	XXX_unrecognized []byte
}

// Tensor is a constant. Raw holds its elements in little-endian order, unless
// another program has put them into another field or another file.
type Tensor struct {
	message
	Dims             []int64    `protobuf:"varint,1,rep,name=dims"`
	Type             DataType   `protobuf:"varint,2,opt,name=data_type,proto3"`
	Name             string     `protobuf:"bytes,8,opt,name=name,proto3"`
	Raw              []byte     `protobuf:"bytes,9,opt,name=raw_data,proto3"`
	External         []*Setting `protobuf:"bytes,13,rep,name=external_data"`
	Location         int32      `protobuf:"varint,14,opt,name=data_location,proto3"`
	XXX_unrecognized []byte
}

// Setting is one part of a tensor's place in another file.
type Setting struct {
	Key              string `protobuf:"bytes,1,opt,name=key,proto3"`
	Value            string `protobuf:"bytes,2,opt,name=value,proto3"`
	XXX_unrecognized []byte
}

// Value is an input or output of a graph; NewValue makes one.
type Value struct {
	Name             string `protobuf:"bytes,1,opt,name=name,proto3"`
	Type             *Type  `protobuf:"bytes,2,opt,name=type"`
	XXX_unrecognized []byte
}

// Type is the type of a value, as far as it is a tensor.
type Type struct {
	Tensor           *TensorType `protobuf:"bytes,1,opt,name=tensor_type"`
	XXX_unrecognized []byte
}

// TensorType is the type of a tensor's elements and its shape.
type TensorType struct {
	Elem             DataType `protobuf:"varint,1,opt,name=elem_type,proto3"`
	Shape            *Shape   `protobuf:"bytes,2,opt,name=shape"`
	XXX_unrecognized []byte
}

// Shape is the lengths of a tensor's axes.
type Shape struct {
	Dims             []*Dim `protobuf:"bytes,1,rep,name=dim"`
	XXX_unrecognized []byte
}

// Dim is the length of an axis: a number above 0, or a name where it varies.
type Dim struct {
	Size             int64  `protobuf:"varint,1,opt,name=dim_value,proto3"`
	Name             string `protobuf:"bytes,2,opt,name=dim_param,proto3"`
	XXX_unrecognized []byte
}

// New returns a model of the graph g, which it keeps, with this version of ONNX's own operators. producer is the
// name of the program that makes it. Other operator sets are added to Opsets.
func New(producer string, version int64, g *Graph) *Model {
	return &Model{IRVersion: irVersion, Producer: producer, Opsets: []*Opset{{Version: version}}, Graph: g}
}

// Add appends a node with one output, whose name both have, and returns that name. MultiHeadAttention, FusedMatMul,
// Gelu, FastGelu and MatMulIntegerToFloat are taken from ONNX Runtime's own operators (Microsoft), all others from
// ONNX's.
func (g *Graph) Add(op, output string, inputs []string, attributes ...*Attribute) string {
	n := &Node{Name: output, Op: op, Inputs: inputs, Outputs: []string{output}, Attributes: attributes}
	switch op {
	case "MultiHeadAttention", "FusedMatMul", "Gelu", "FastGelu", "MatMulIntegerToFloat":
		n.Domain = Microsoft
	}
	g.Nodes = append(g.Nodes, n)
	return output
}

// Constant appends an initialiser, which is kept, and returns its name.
func (g *Graph) Constant(t *Tensor) string {
	g.Initialisers = append(g.Initialisers, t)
	return t.Name
}

// Int returns an attribute that is a whole number.
func Int(name string, v int64) *Attribute {
	return &Attribute{Name: &name, Int: &v, Type: new(int32(2))}
}

// Real returns an attribute that is a number.
func Real(name string, v float32) *Attribute {
	return &Attribute{Name: &name, Real: &v, Type: new(int32(1))}
}

// IntList returns an attribute that is a list of whole numbers.
func IntList(name string, v ...int64) *Attribute {
	return &Attribute{Name: &name, IntList: v, Type: new(int32(7))}
}

// NewValue returns a tensor that goes in or out, with one length for each axis.
func NewValue(name string, elem DataType, shape ...Dim) *Value {
	t := &TensorType{Elem: elem, Shape: &Shape{}}
	for _, d := range shape {
		t.Shape.Dims = append(t.Shape.Dims, &d)
	}
	return &Value{Name: name, Type: &Type{Tensor: t}}
}

// Elem returns the type of a value's elements; 0 for a value that is no tensor or has no type.
func (v *Value) Elem() DataType {
	if v.Type == nil || v.Type.Tensor == nil {
		return 0
	}
	return v.Type.Tensor.Elem
}

// Shape returns the lengths of a value's axes; nil if the model does not give them or the value is no tensor.
func (v *Value) Shape() []*Dim {
	if v.Elem() == 0 || v.Type.Tensor.Shape == nil {
		return nil
	}
	return v.Type.Tensor.Shape.Dims
}

// Fixed returns an axis of n elements.
func Fixed(n int) Dim { return Dim{Size: int64(n)} }

// Varying returns an axis whose length may differ from call to call. Axes of the same name are of the same length;
// the name may be "".
func Varying(name string) Dim { return Dim{Name: name} }

// Floats returns a float32 tensor of these values, row by row, and this shape; without dims it has no axes and one
// value.
func Floats(name string, values []float32, dims ...int) *Tensor {
	raw := make([]byte, 0, 4*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return &Tensor{Name: name, Type: Float, Dims: int64s(dims), Raw: raw}
}

// Ints returns an int64 tensor of these values, row by row, and this shape; without dims it has no axes and one
// value.
func Ints(name string, values []int64, dims ...int) *Tensor {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return &Tensor{Name: name, Type: Int64, Dims: int64s(dims), Raw: raw}
}

// Bytes returns an int8 tensor of these values, row by row, and this shape.
func Bytes(name string, values []int8, dims ...int) *Tensor {
	raw := make([]byte, len(values))
	for i, v := range values {
		raw[i] = byte(v)
	}
	return &Tensor{Name: name, Type: Int8, Dims: int64s(dims), Raw: raw}
}

// int64s returns values as int64; nil without any.
func int64s(values []int) (out []int64) {
	for _, v := range values {
		out = append(out, int64(v))
	}
	return out
}

// Describe returns a list of values for a message, each with its name, type and shape, separated by semicolons:
// "input_ids int64 [batch, ?]".
func Describe(values ...*Value) string {
	var all []string
	for _, v := range values {
		shape := "of unknown shape"
		if v.Shape() != nil {
			var dims []string
			for _, d := range v.Shape() {
				size := cmp.Or(d.Name, "?")
				if d.Size > 0 {
					size = fmt.Sprint(d.Size)
				}
				dims = append(dims, size)
			}
			shape = "[" + strings.Join(dims, ", ") + "]"
		}
		all = append(all, fmt.Sprintf("%s %s %s", v.Name, v.Elem(), shape))
	}
	return strings.Join(all, "; ")
}
