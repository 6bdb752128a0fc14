package t5

import (
	"fmt"
	"io"

	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/tensors"
)

// Names returns the name and shape of every tensor that the graphs of a model with this configuration read, each once:
// the encoder's, then the decoder's.
func (c *Config) Names() []tensors.TensorShape {
	b := &builder{c: *c}
	b.encoder()
	b.addCrossAttention("")
	encoder := b.Wanted
	b.Wanted = nil
	b.decoder()
	for _, n := range b.Wanted {
		if n.Name != tableName || len(encoder) == 0 {
			encoder = append(encoder, n)
		}
	}
	return encoder
}

// builder collects the nodes of a graph. It keeps the first error of reading a weight in Err; what follows is
// meaningless then.
type builder struct {
	tensors.Loader
	c     Config
	graph onnx.Graph
	next  int // numbers values that have no name of their own
}

// newBuilder returns a builder of a graph with this name. It fails if c is invalid; tensors that are missing are
// found later (Loader.Read).
func newBuilder(c Config, weights tensors.Weights, name string) (*builder, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &builder{c: c, Loader: tensors.Loader{Weights: weights}, graph: onnx.Graph{Name: name}}, nil
}

// write writes the graph as a model to w. It fails, with nothing written, if a tensor was missing or the model
// would be too long for a file.
func (b *builder) write(w io.Writer) error {
	if b.Err != nil {
		return b.Err
	}
	m := onnx.New("conclave", 17, &b.graph)
	m.Opsets = append(m.Opsets, &onnx.Opset{Domain: onnx.Microsoft, Version: 1})
	return m.Write(w)
}

// op appends a node to the graph and returns the name of its output, which is made of op and a number.
func (b *builder) op(op string, inputs []string, attributes ...*onnx.Attribute) string {
	b.next++
	return b.graph.Add(op, fmt.Sprintf("%s_%d", op, b.next), inputs, attributes...)
}

// input declares an input of the graph and returns its name.
func (b *builder) input(name string, kind onnx.DataType, shape ...onnx.Dim) string {
	b.graph.Inputs = append(b.graph.Inputs, onnx.NewValue(name, kind, shape...))
	return name
}

// output declares an output of the graph, of float32; a node has to give it its value.
func (b *builder) output(name string, shape ...onnx.Dim) {
	b.graph.Outputs = append(b.graph.Outputs, onnx.NewValue(name, onnx.Float, shape...))
}

// floats adds a constant of float32 with this name and shape to the graph and returns the name. While tensors are
// only recorded, it adds nothing.
func (b *builder) floats(name string, values []float32, dims ...int) string {
	if b.Naming() {
		return name
	}
	return b.graph.Constant(onnx.Floats(name, values, dims...))
}

// ints adds a constant vector of int64 to the graph and returns its name.
func (b *builder) ints(values ...int64) string {
	b.next++
	return b.graph.Constant(onnx.Ints(fmt.Sprintf("ints_%d", b.next), values, len(values)))
}

// scalar adds a constant int64 without axes to the graph and returns its name.
func (b *builder) scalar(value int64) string {
	b.next++
	return b.graph.Constant(onnx.Ints(fmt.Sprintf("scalar_%d", b.next), []int64{value}))
}

// linear adds the product of the value named rows, [·, in], with a weight, [out, in], and returns the name of the
// result; "" while tensors are only recorded. The weight's tensor is called name with ".weight" behind it.
func (b *builder) linear(name string, rows string, out, in int) string {
	name += ".weight"
	weight := b.Read(name, out, in)
	if b.Naming() {
		return ""
	}
	transposed := make([]float32, len(weight))
	for o := range out {
		for i := range in {
			transposed[i*out+o] = weight[o*in+i]
		}
	}
	return b.op("MatMul", []string{rows, b.floats(name, transposed, in, out)})
}

// normalise adds the division of the value named rows by its root mean square and its scaling (Zhang & Sennrich
// 2019), and returns the name of the result. name is the prefix of the tensor layer_norm.weight.
func (b *builder) normalise(name, rows string) string {
	name += "layer_norm.weight"
	return b.op("SimplifiedLayerNormalization", []string{rows, b.floats(name, b.Read(name, b.c.Dimension), b.c.Dimension)},
		onnx.Int("axis", -1), onnx.Real("epsilon", b.c.NormEps))
}

// feedForward adds the feed-forward part of a block to the value named rows and returns the name of the sum. name
// is the prefix of its tensors.
func (b *builder) feedForward(name, rows string) string {
	d, f := b.c.Dimension, b.c.Intermediate
	normal := b.normalise(name, rows)
	dense := name + "DenseReluDense."
	wide := ""
	if b.c.isGated() {
		wide = b.op("Mul", []string{b.activate(b.linear(dense+"wi_0", normal, f, d)), b.linear(dense+"wi_1", normal, f, d)})
	} else {
		wide = b.activate(b.linear(dense+"wi", normal, f, d))
	}
	return b.op("Add", []string{rows, b.linear(dense+"wo", wide, d, f)})
}

// activate adds the model's activation function of the value named rows to the graph and returns the name of its
// output.
func (b *builder) activate(rows string) string {
	op := activations[b.c.activationName()]
	out := b.op(op, []string{rows})
	if op == silu {
		return b.op("Mul", []string{rows, out})
	}
	return out
}

// positionTable returns the bias of each distance from first to last, [last-first+1, heads]; keys behind their
// query have positive distances. table is the checkpoint's, with a row for each bucket, and decoder is as for
// biasRow.
func (b *builder) positionTable(table []float32, first, last int, decoder bool) []float32 {
	var out []float32
	for d := first; d <= last; d++ {
		row := b.c.biasRow(d, decoder) * b.c.Heads
		out = append(out, table[row:row+b.c.Heads]...)
	}
	return out
}

// positions adds the lookup of the biases, [1, heads, queries, keys], and returns the name of the result. table
// names a table whose rows are the distances from first to last; distances beyond them take the row at that end.
// queries and keys name vectors of positions.
func (b *builder) positions(table, queries, keys string, first, last int) string {
	distance := b.op(
		"Sub", []string{b.op("Unsqueeze", []string{keys, b.ints(0)}), b.op("Unsqueeze", []string{queries, b.ints(1)})},
	)
	row := b.op(
		"Sub",
		[]string{b.op("Clip", []string{distance, b.scalar(int64(first)), b.scalar(int64(last))}), b.scalar(int64(first))},
	)
	bias := b.op("Transpose", []string{b.op("Gather", []string{table, row})}, onnx.IntList("perm", 2, 0, 1))
	return b.op("Unsqueeze", []string{bias, b.ints(0)})
}

// axis adds the length of axis i of a value, from 0, as a scalar, and returns its name.
func (b *builder) axis(value string, i int64) string {
	return b.op("Gather", []string{b.op("Shape", []string{value}), b.scalar(i)})
}

// count adds the vector of the whole numbers from `from` up to, but not including, `to` and returns its name. Both
// are names of scalars.
func (b *builder) count(from, to string) string {
	return b.op("Range", []string{from, to, b.scalar(1)})
}
