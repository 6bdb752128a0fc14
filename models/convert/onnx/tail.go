package onnx

// Tail adds nodes to a graph that pool a vector per token into one per text, and that scale vectors. It extends graphs
// that other programs exported, so it uses only operators that mean the same in every operator set from 9 on and that
// every execution provider of ONNX Runtime has.
type Tail struct {
	Graph *Graph
	// Prefix begins the names of all new values; no other value of the graph may have it.
	Prefix string
}

// First adds the selection of the first token's vector of the value named hidden, [batch, sequence, dimension], and
// returns the name of the result, [batch, dimension].
func (t Tail) First(hidden string) string {
	index := t.constant(Ints("first", []int64{0}))
	return t.op("Gather", "cls", []string{hidden, index}, Int("axis", 1))
}

// Mean adds the mean of the value named hidden, [batch, sequence, dimension], over the tokens whose entry in the
// value named mask, int64 [batch, sequence], is 1, and returns the name of the result, [batch, dimension]; 0 where
// no token counts. Sum and count are products with the mask, several times faster than multiplying and reducing.
func (t Tail) Mean(hidden, mask string) string {
	values := t.op("Cast", "mask", []string{mask}, Int("to", int64(Float)))
	row := t.op("Reshape", "row", []string{values, t.constant(Ints("rowshape", []int64{0, 1, -1}, 3))})
	sums := t.op("MatMul", "sums", []string{row, hidden})
	column := t.op("Transpose", "column", []string{row}, IntList("perm", 0, 2, 1))
	count := t.op("MatMul", "count", []string{row, column})
	divisor := t.op("Max", "divisor", []string{count, t.constant(Floats("tiny", []float32{1e-9}))})
	means := t.op("Div", "means", []string{sums, divisor})
	return t.op("Reshape", "mean", []string{means, t.constant(Ints("flat", []int64{0, -1}, 2))})
}

// UnitLength adds the division of each vector of the value named input, [batch, dimension], by its Euclidean
// length, or by 1e-12 if that is more, and returns the name of the result.
func (t Tail) UnitLength(input string, dimension int) string {
	return t.op("Div", "unit", []string{input, t.Length(input, dimension)})
}

// Length adds the Euclidean length of each vector of the value named input, [batch, dimension], or 1e-12 if that is
// more, and returns the name of the result, [batch, 1].
func (t Tail) Length(input string, dimension int) string {
	ones := make([]float32, dimension)
	for i := range ones {
		ones[i] = 1
	}
	squares := t.op("Mul", "squares", []string{input, input})
	sum := t.op("MatMul", "squared", []string{squares, t.constant(Floats("ones", ones, dimension, 1))})
	return t.op(
		"Max", "length",
		[]string{t.op("Sqrt", "lengths", []string{sum}), t.constant(Floats("smallest", []float32{1e-12}))},
	)
}

// Float32 adds the conversion of the value with this name to float32 and returns the name of the result.
func (t Tail) Float32(value string) string {
	return t.op("Cast", "float32", []string{value}, Int("to", int64(Float)))
}

// Name adds a node that gives the value named value a second name, output.
func (t Tail) Name(value, output string) {
	t.Graph.Nodes = append(
		t.Graph.Nodes,
		&Node{Name: t.Prefix + "out", Op: "Identity", Inputs: []string{value}, Outputs: []string{output}},
	)
}

// constant adds a tensor, which it renames, to the graph with the prefix before its name, and returns the new name.
func (t Tail) constant(tensor *Tensor) string {
	tensor.Name = t.Prefix + tensor.Name
	return t.Graph.Constant(tensor)
}

// op adds an operator to the graph, with the prefix before its output's name, and returns the whole name.
func (t Tail) op(op, name string, inputs []string, attributes ...*Attribute) string {
	return t.Graph.Add(op, t.Prefix+name, inputs, attributes...)
}
