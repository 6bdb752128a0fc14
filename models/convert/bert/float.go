package bert

import (
	"fmt"

	"example.org/conclave/models/convert/onnx"
)

// floatEmbeddings adds nodes that sum the rows of the three tables for each token and normalise the sum, and
// returns the name of the result, float32 [batch·sequence, dimension].
func (b *builder) floatEmbeddings(t tables) string {
	d := b.c.Dimension
	table := func(name string, values []float32) string {
		return b.floats("embeddings."+name, values, len(values)/d, d)
	}
	ids, types, positions := b.tokens()
	b.graph.Nodes = append(b.graph.Nodes, &onnx.Node{
		Name: "embeddings", Op: "EmbedLayerNormalization", Domain: onnx.Microsoft,
		Inputs: []string{
			ids, types,
			table("words", t.words), table("positions", t.positions), table("types", t.types),
			b.floats("embeddings.gamma", t.norm.gamma, d), b.floats("embeddings.beta", t.norm.beta, d),
			"", positions,
		},
		Outputs:    []string{"embeddings", "embeddings.unused"},
		Attributes: []*onnx.Attribute{onnx.Real("epsilon", b.c.LayerNormEps)},
	})
	return b.op("Reshape", []string{"embeddings", rowShape})
}

// floatLayer adds the nodes of layer i, whose weights are l: attention and feed-forward, each added to its input
// and normalised. It returns the name of the result, [batch·sequence, dimension], as the input named rows has it.
// With firstOnly the result has the first tokens' rows only, [batch, dimension].
//
// LayerNormalization after Add is faster on CPUs than SkipLayerNormalization, and Gelu after Gemm than BiasGelu
// after MatMul.
func (b *builder) floatLayer(i int, l block, rows string, firstOnly bool) string {
	name := fmt.Sprintf("layer.%d.", i)
	queries := rows
	if firstOnly {
		queries = b.firstRows(rows)
	}
	// A bias of the keys adds the same to all scores of a query, which the
	// softmax takes out again: the mask stands in its place.
	key := l.key.widenHeads(b.c.Heads, 0)
	context := b.attend(
		b.gemm(name+"query", l.query.widenHeads(b.c.Heads, 1), queries),
		b.op("Gemm", []string{rows, b.weight(name+"key", key), keyMask}),
		b.gemm(name+"value", l.value, rows),
		firstOnly)
	attended := b.op("Add", []string{b.gemm(name+"output", l.output, context), queries})
	attended = b.normalise(name+"attended", l.attentionNorm, attended)
	wide := b.activate(b.gemm(name+"wide", l.wide, attended))
	narrow := b.op("Add", []string{b.gemm(name+"narrow", l.narrow, wide), attended})
	return b.normalise(name+"normalised", l.outputNorm, narrow)
}

// normalise adds a layer normalisation of the value named rows to the graph and returns the name of its output.
// name begins those of its two constants.
func (b *builder) normalise(name string, n norm, rows string) string {
	d := b.c.Dimension
	return b.op(
		"LayerNormalization", []string{rows, b.floats(name+".gamma", n.gamma, d), b.floats(name+".beta", n.beta, d)},
		onnx.Int("axis", -1), onnx.Real("epsilon", b.c.LayerNormEps),
	)
}

// activate adds the model's activation function of the value named rows to the graph and returns the name of its
// output.
func (b *builder) activate(rows string) string {
	switch activations[b.c.Activation] {
	case gelu:
		return b.op("Gelu", []string{rows})
	case geluTanh:
		return b.op("FastGelu", []string{rows})
	}
	return b.op("Relu", []string{rows})
}
