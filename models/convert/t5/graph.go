package t5

import (
	"fmt"
	"io"

	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/tensors"
)

// Names returns the name and shape of every tensor of a model.
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

// newBuilder returns a builder of a graph with this name. It fails if c is invalid.
func newBuilder(c Config, weights tensors.Weights, name string) (*builder, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &builder{c: c, Loader: tensors.Loader{Weights: weights}, graph: onnx.Graph{Name: name}}, nil
}

// write writes the graph to w. It fails if a tensor was missing.
func (b *builder) write(w io.Writer) error {
	if b.Err != nil {
		return b.Err
	}
	m := onnx.New("conclave", 17, &b.graph)
	m.Opsets = append(m.Opsets, &onnx.Opset{Domain: onnx.Microsoft, Version: 1})
	return m.Write(w)
}

// op appends a node and returns the name of its output.
func (b *builder) op(op string, inputs []string, attributes ...*onnx.Attribute) string {
	b.next++
	return b.graph.Add(op, fmt.Sprintf("%s_%d", op, b.next), inputs, attributes...)
}

// input adds an input to the graph and returns its name.
func (b *builder) input(name string, kind onnx.DataType, shape ...onnx.Dim) string {
	b.graph.Inputs = append(b.graph.Inputs, onnx.NewValue(name, kind, shape...))
	return name
}

// output adds an output of float32 to the graph.
func (b *builder) output(name string, shape ...onnx.Dim) {
	b.graph.Outputs = append(b.graph.Outputs, onnx.NewValue(name, onnx.Float, shape...))
}

// floats adds a constant of float32 to the graph and returns its name. While names are only collected, it adds nothing.
func (b *builder) floats(name string, values []float32, dims ...int) string {
	if b.Naming() {
		return name
	}
	return b.graph.Constant(onnx.Floats(name, values, dims...))
}

// ints adds a constant list of int64 and returns its name.
func (b *builder) ints(values ...int64) string {
	b.next++
	return b.graph.Constant(onnx.Ints(fmt.Sprintf("ints_%d", b.next), values, len(values)))
}

// scalar adds a constant int64 to the graph and returns its name.
func (b *builder) scalar(value int64) string {
	b.next++
	return b.graph.Constant(onnx.Ints(fmt.Sprintf("scalar_%d", b.next), []int64{value}))
}

// linear adds the product of rows [·, in] with a weight [out, in] and returns the name of the result.
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

// normalise adds the division of rows by their root mean square and their scaling (Zhang & Sennrich 2019), and returns
// the name of the result.
func (b *builder) normalise(name, rows string) string {
	name += "layer_norm.weight"
	return b.op("SimplifiedLayerNormalization", []string{rows, b.floats(name, b.Read(name, b.c.Dimension), b.c.Dimension)},
		onnx.Int("axis", -1), onnx.Real("epsilon", b.c.NormEps))
}

// feedForward adds the feed-forward part of a block, with its input added, and returns the name of the result.
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

// activate adds the activation function to the graph and returns the name of its output.
func (b *builder) activate(rows string) string {
	op := activations[b.c.activationName()]
	out := b.op(op, []string{rows})
	if op == silu {
		return b.op("Mul", []string{rows, out})
	}
	return out
}

// positionTable returns the bias of each distance from first to last, where keys behind their query have positive ones;
// table is the checkpoint's, with a row for each bucket. The result is [last-first+1, heads].
func (b *builder) positionTable(table []float32, first, last int, decoder bool) []float32 {
	var out []float32
	for d := first; d <= last; d++ {
		row := b.c.biasRow(d, decoder) * b.c.Heads
		out = append(out, table[row:row+b.c.Heads]...)
	}
	return out
}

// positions adds the lookup of the biases [1, heads, queries, keys] in a table whose rows are the distances from first
// to last, and returns its name; larger distances take the row at the end.
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

// axis adds the length of axis i of a value, a scalar, and returns its name.
func (b *builder) axis(value string, i int64) string {
	return b.op("Gather", []string{b.op("Shape", []string{value}), b.scalar(i)})
}

// count adds the numbers from up to, but not including, to and returns the name of the output. from and to are names of
// scalars.
func (b *builder) count(from, to string) string {
	return b.op("Range", []string{from, to, b.scalar(1)})
}
