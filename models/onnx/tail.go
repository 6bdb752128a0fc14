package onnx

// The functions here append to a graph what turns one vector a token into one
// vector a text. They use operators that every execution provider of ONNX
// Runtime has. Names of new values begin with "pool.".

// FirstToken appends the pooling that takes the first token's vector of
// hidden [batch, sequence, dimension], and returns the name of the result,
// [batch, dimension].
func FirstToken(g *Graph, hidden string) string {
	g.Initialisers = append(g.Initialisers, Tensor{Name: "pool.first", Type: Int64, Raw: make([]byte, 8)})
	g.append("Gather", "pool.cls", []string{hidden, "pool.first"}, Attribute{"axis", int64(1)})
	return "pool.cls"
}

// MeanPool appends the mean of hidden [batch, sequence, dimension] over the
// tokens whose entry in mask, int64 [batch, sequence], is 1, and returns the
// name of the result, [batch, dimension]. The sum is a product with the mask,
// which is several times faster than multiplying and reducing.
func MeanPool(g *Graph, hidden, mask string) string {
	g.Initialisers = append(g.Initialisers,
		Ints("pool.axis1", []int64{1}, 1),
		Ints("pool.axis2", []int64{2}, 1),
		Floats("pool.tiny", []float32{1e-9}))
	g.append("Cast", "pool.mask", []string{mask}, Attribute{"to", int64(Float)})
	g.append("Unsqueeze", "pool.row", []string{"pool.mask", "pool.axis1"})
	g.append("MatMul", "pool.sums", []string{"pool.row", hidden})
	g.append("ReduceSum", "pool.count", []string{"pool.row", "pool.axis2"})
	g.append("Max", "pool.divisor", []string{"pool.count", "pool.tiny"})
	g.append("Div", "pool.means", []string{"pool.sums", "pool.divisor"})
	g.append("Squeeze", "pool.mean", []string{"pool.means", "pool.axis1"})
	return "pool.mean"
}

// UnitLength appends the division of each vector of input [batch, dimension]
// by its Euclidean length, or by 1e-12 where that is more, and returns the
// name of the result.
func UnitLength(g *Graph, input string) string {
	g.Initialisers = append(g.Initialisers, Floats("pool.smallest", []float32{1e-12}))
	g.append("ReduceL2", "pool.lengths", []string{input}, Attribute{"axes", []int64{1}}, Attribute{"keepdims", int64(1)})
	g.append("Max", "pool.length", []string{"pool.lengths", "pool.smallest"})
	g.append("Div", "pool.unit", []string{input, "pool.length"})
	return "pool.unit"
}

func (g *Graph) append(op, output string, inputs []string, attributes ...Attribute) {
	g.Nodes = append(g.Nodes, Node{Name: output, Op: op, Inputs: inputs, Outputs: []string{output}, Attributes: attributes})
}
