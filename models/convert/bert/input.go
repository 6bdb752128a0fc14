package bert

import (
	"math"

	"example.org/conclave/models/convert/onnx"
)

// Padding. The usual way, adding a large negative number to the scores of
// padded keys, keeps ONNX Runtime from its fused attention kernel, which
// takes half the time. Here padding is kept out without a mask:
//
// Each padded position becomes a copy of its text's first token: the same id,
// position and type, hence the same vector in every layer. And each head's
// queries and keys get one more component, which is 1 in every query and, in
// keys, 0 for a real token and negative for padding, so far that the score is
// lower by maskedBy. A padded key then weighs e⁻³⁰ of what the first token's
// does, whatever the model's weights are, and that is below the rounding of
// float32. (With relative positions, which add to a score what depends on the padding's place, the
// component is larger by all that they can add.) Nor is e⁻³⁰ near the denormal numbers, which make the kernel ten
// times slower (as they do with 100 in place of 30).
const maskedBy = 30

// Values that all layers use.
const (
	keyMask    = "mask.keys"   // float32 [batch·sequence, wide]: what is added to the keys
	queryShape = "shape.query" // [batch, sequence, wide]
	valueShape = "shape.value" // [batch, sequence, dimension]
	rowShape   = "shape.rows"  // [-1, dimension]
)

// headSize returns the length of a query or key of one head.
func (c *Config) headSize() int { return c.Dimension / c.Heads }

// widenedSize returns the length of the queries of all heads together, with one more component for each head.
func (c *Config) widenedSize() int { return c.Dimension + c.Heads }

// inputs adds the values that all layers share: the shapes, and keyMask from the attention mask. The graph's inputs
// themselves are declared by write. b.relative has to be set.
func (b *builder) inputs() {
	shape := b.op("Shape", []string{inputIDs})
	axis := onnx.Int("axis", 0)
	b.graph.Add("Concat", queryShape, []string{shape, b.ints("width.query", int64(b.c.widenedSize()))}, axis)
	b.graph.Add("Concat", valueShape, []string{shape, b.ints("width.value", int64(b.c.Dimension))}, axis)
	b.ints(rowShape, -1, int64(b.c.Dimension))

	column := b.op("Reshape", []string{
		b.op("Cast", []string{attentionMask}, onnx.Int("to", int64(onnx.Float))),
		b.ints("shape.column", -1, 1),
	})
	padded := b.op("Sub", []string{column, b.floats("mask.real", []float32{1})}) // 0 or -1
	components := make([]float32, b.c.widenedSize())
	for h := range b.c.Heads {
		// Scores are multiplied by 1/√size.
		components[(h+1)*(b.c.headSize()+1)-1] = (maskedBy + b.relativeSpread()) * float32(math.Sqrt(float64(b.c.headSize())))
	}
	b.graph.Add("MatMul", keyMask, []string{padded, b.floats("mask.components", components, 1, len(components))})
}

// tokens adds nodes that replace padding by copies of the first token, and returns the names of ids, token types
// and positions, each int32 [batch, sequence]; a padded position is 0.
func (b *builder) tokens() (ids, types, positions string) {
	zero, one := b.ints("zero", 0), b.ints("one", 1)
	int32s := onnx.Int("to", int64(onnx.Int32))
	real := b.op("Cast", []string{attentionMask}, onnx.Int("to", int64(onnx.Bool)))
	fill := func(input string) string {
		first := b.op("Slice", []string{input, zero, one, one})
		return b.op("Cast", []string{b.op("Where", []string{real, input, first})}, int32s)
	}
	shape := b.op("Shape", []string{inputIDs})
	length := b.op("Squeeze", []string{b.op("Slice", []string{shape, one, b.ints("two", 2)})})
	order := b.op("Range", []string{b.scalar("from", 0), length, b.scalar("step", 1)})
	positions = b.op("Cast", []string{b.op("Mul", []string{attentionMask, order})}, int32s)
	return fill(inputIDs), fill(tokenTypeIDs), positions
}

// attend adds multi-head attention over widened queries and keys (widenHeads) and over values, which are names of
// values [·, width], and returns the name of its result, [·, dimension]. With firstOnly, the queries are those of
// the first tokens, one row a text.
func (b *builder) attend(query, key, value string, firstOnly bool) string {
	shape := queryShape
	if firstOnly {
		shape = b.ints("shape.first", -1, 1, int64(b.c.widenedSize()))
	}
	inputs := []string{
		b.op("Reshape", []string{query, shape}),
		b.op("Reshape", []string{key, queryShape}),
		b.op("Reshape", []string{value, valueShape}),
	}
	if bias := b.relativeTo(firstOnly); bias != "" {
		inputs = append(inputs, "", "", bias)
	}
	scale := onnx.Real("scale", float32(1/math.Sqrt(float64(b.c.headSize()))))
	context := b.op("MultiHeadAttention", inputs, onnx.Int("num_heads", int64(b.c.Heads)), scale)
	return b.op("Reshape", []string{context, rowShape})
}

// firstRows adds the selection of the first tokens' rows from the value named rows, [batch·sequence, dimension],
// and returns the name of the result, [batch, dimension].
func (b *builder) firstRows(rows string) string {
	tail := onnx.Tail{Graph: &b.graph, Prefix: "first."}
	return tail.First(b.op("Reshape", []string{rows, valueShape}))
}
