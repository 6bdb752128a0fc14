package bert

import (
	"fmt"
	"io"

	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/tensors"
)

// WriteInt8 writes the encoder as an ONNX model whose tables and linear layers are in 8 bits: about a quarter of
// the size, and vectors with a cosine of 0.99 and more to the float32 ones. cls and sep are the ids of the tokens
// that begin and end a text. It fails as Write does. To find the inputs' ranges it computes random texts with the
// unquantised model, on all CPUs.
//
// Like Write's, a text's vector does not depend on its batch: the usual dynamic quantisation has one scale for a
// whole batch. Here the inputs of three of a layer's four products have steps that are fixed at import, which is
// also faster than finding them each time, and those of the fourth, behind the activation, where rare values are
// ten times the usual, have one step for each row. Attention, sums and normalisation stay in float32.
func WriteInt8(w io.Writer, c Config, weights tensors.Weights, head Head, cls, sep int) error {
	return write(w, c, weights, head, func(b *builder) string {
		b.graph.Constant(&onnx.Tensor{Name: symmetric, Type: onnx.Uint8, Raw: []byte{128}})
		b.graph.Constant(&onnx.Tensor{Name: oneSided, Type: onnx.Uint8, Raw: []byte{b.c.lowestCode()}})
		b.floats(unitStep, []float32{1})
		t := b.tables()
		s := b.sample(t, cls, sep)
		l := b.block(0)
		q := l.input(s.currentRanges(c.Dimension))
		hidden := b.int8Embeddings(t, t.norm.storeFor(q))
		for i := range c.Layers {
			if b.Err != nil {
				return ""
			}
			context, attended := s.advanceLayer(&c, l)
			this, into := l, q
			after := this.outputNorm
			if i+1 < c.Layers {
				l = b.block(i + 1)
				q = l.input(s.currentRanges(c.Dimension))
				after = after.storeFor(q)
			}
			hidden = b.int8Layer(i, this, hidden, into, context, attended, after, head.firstTokenOnly() && i == c.Layers-1)
		}
		return hidden
	})
}

// Constants that all layers use: the codes for 0, and a step of 1.
const (
	symmetric = "code.symmetric" // 128
	oneSided  = "code.activated" // lowestCode
	unitStep  = "step.one"
)

// input returns the quantiser of the input of queries, keys and values, for the ranges of that input's components.
func (l block) input(r ranges) quantiser {
	return newQuantiser(r, r.middleOf(), l.query, l.key, l.value)
}

// lowestCode returns the code that stands for 0 behind the activation, so that its lowest value has a code of at
// least 0: GELU's values are never below -0.1701, ReLU's never below 0.
func (c *Config) lowestCode() byte {
	if activations[c.Activation] == relu {
		return 0
	}
	return 16
}

// smallestStep returns the least quantisation step behind the activation with which its lowest value is within the
// codes.
func (c *Config) smallestStep() float32 {
	if activations[c.Activation] == relu {
		return 1e-6
	}
	return 0.1701 / 16
}

// int8Embeddings adds nodes that sum the rows of the three tables of t for each token and normalise the sum by n, which
// is not t's own; the tables have 8 bits, with one scale for each row. It returns the name of the result, float32
// [batch·sequence, dimension].
func (b *builder) int8Embeddings(t tables, n norm) string {
	d := b.c.Dimension
	ids, types, positions := b.tokens()
	flat := b.ints("shape.flat", -1)
	look := func(name string, table []float32, index string) string {
		values, scales := rowQuantised(table, d)
		codes := b.graph.Constant(onnx.Bytes("embeddings."+name, values, len(scales), d))
		steps := b.floats("embeddings."+name+".scale", scales, len(scales))
		found := b.op("Reshape", []string{b.op("Gather", []string{codes, index}), rowShape})
		step := b.op("Reshape", []string{b.op("Gather", []string{steps, index}), flat})
		return b.op("DequantizeLinear", []string{found, step}, onnx.Int("axis", 0))
	}
	sum := b.op("Add", []string{
		b.op("Add", []string{look("words", t.words, ids), look("types", t.types, types)}),
		look("positions", t.positions, positions),
	})
	return b.normalise("embeddings", n, sum)
}

// int8Layer adds layer i as floatLayer does, in 8 bits, and returns the name of the result. rows names the input,
// which is stored as the quantiser into says (norm.storeFor). context and attended are the ranges of the
// attention's result and of the feed-forward part's input. after normalises the result, and may store it for the
// next layer's quantiser.
func (b *builder) int8Layer(
	i int,
	l block,
	rows string,
	into quantiser,
	context, attended ranges,
	after norm,
	firstOnly bool,
) string {
	name := fmt.Sprintf("layer.%d.", i)
	step := func(q quantiser, site string) string { return b.floats(name+site+".step", []float32{q.step}) }
	round := func(rows, step string) string { return b.op("QuantizeLinear", []string{rows, step, symmetric}) }
	biased := func(part string, l quantisedLayer, x, step string) string {
		return b.product(name+part, l, x, step, symmetric, b.floats(name+part+".bias", l.bias, len(l.bias)))
	}
	// restored undoes a quantiser's scale; its shift is in the bias of what is
	// added.
	restored := func(rows string, q quantiser, site string) string {
		return b.op("Mul", []string{rows, b.floats(name+site+".unscale", q.scale, len(q.scale))})
	}

	inStep := step(into, "input")
	codes := round(rows, inStep)
	queries, queryCodes := rows, codes
	if firstOnly {
		queries = b.firstRows(rows)
		queryCodes = round(queries, inStep)
	}
	key := l.key.widenHeads(b.c.Heads, 0).quantise(into)
	mixed := b.attend(
		biased("query", l.query.widenHeads(b.c.Heads, 1).quantise(into), queryCodes, inStep),
		b.op("Add", []string{b.product(name+"key", key, codes, inStep, symmetric, ""), keyMask}),
		biased("value", l.value.quantise(into), codes, inStep),
		firstOnly)

	plain := plainQuantiser(context)
	output := l.output.quantise(plain)
	for j := range output.bias {
		output.bias[j] += into.shift[j]
	}
	outStep := step(plain, "context")
	sum := b.op(
		"Add", []string{biased("output", output, round(mixed, outStep), outStep), restored(queries, into, "input")},
	)

	// The shift here is not the middle of the ranges but what the second sum
	// needs: its other part is multiplied by a step a row, so a bias cannot be
	// in it.
	less := make([]float32, len(l.narrow.bias))
	for j, v := range l.narrow.bias {
		less[j] = -v
	}
	mid := newQuantiser(attended, less, l.wide)
	stored := b.normalise(name+"attended", l.attentionNorm.storeFor(mid), sum)
	midStep := step(mid, "attended")
	active := b.activate(biased("wide", l.wide.quantise(mid), round(stored, midStep), midStep))

	narrow := l.narrow.quantise(identityQuantiser(b.c.Intermediate))
	product := b.rowProduct(name+"narrow", narrow, active)
	return b.normalise(name+"normalised", after, b.op("Add", []string{product, restored(stored, mid, "attended")}))
}

// identityQuantiser returns the quantiser that stores inputs of d components as they are; it has no step.
func identityQuantiser(d int) quantiser {
	q := quantiser{shift: make([]float32, d), scale: make([]float32, d)}
	for j := range q.scale {
		q.scale[j] = 1
	}
	return q
}

// rowProduct adds nodes for the product of the value named rows, which the activation has made, with the weights l.
// Each row has its own quantisation step: by its largest value, but never less than smallestStep. It returns the
// name of the product, float32 without a bias. name begins the names of the constants.
func (b *builder) rowProduct(name string, l quantisedLayer, rows string) string {
	largest := b.op("ReduceMax", []string{rows}, onnx.IntList("axes", 1))
	steps := b.op("Max", []string{
		b.op("Mul", []string{largest, b.floats(name+".codes", []float32{1 / float32(255-int(b.c.lowestCode()))})}),
		b.floats(name+".smallest", []float32{b.c.smallestStep()}),
	})
	flat := b.op("Squeeze", []string{steps, b.ints(name+".axis", 1)})
	zero := b.op("Expand", []string{oneSided, b.op("Shape", []string{flat})})
	codes := b.op("QuantizeLinear", []string{rows, flat, zero}, onnx.Int("axis", 0))
	return b.op("Mul", []string{b.product(name, l, codes, unitStep, oneSided, ""), steps})
}
