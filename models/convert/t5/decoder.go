package t5

import (
	"fmt"
	"io"
	"math"

	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/tensors"
)

// PastKey returns the name of the decoder's input for the attention keys of a layer, counted from 0, of the tokens
// before this step.
func PastKey(layer int) string { return fmt.Sprintf("past.%d.key", layer) }

// PastValue returns the name of the decoder's input for the attention values of a layer, counted from 0, of the tokens
// before this step.
func PastValue(layer int) string { return fmt.Sprintf("past.%d.value", layer) }

// PresentKey returns the name of the decoder's output with a layer's keys, those of the new tokens included: the
// PastKey of the next step.
func PresentKey(layer int) string { return fmt.Sprintf("present.%d.key", layer) }

// PresentValue returns the name of the decoder's output with a layer's values, those of the new tokens included: the
// PastValue of the next step.
func PresentValue(layer int) string { return fmt.Sprintf("present.%d.value", layer) }

// WriteDecoder writes the graph of one step of the decoder. Its inputs are the new tokens, InputIDs int64 [B, S];
// for each of their rows the row of the past that it goes on from, Beams int64 [B]; for each layer PastKey and
// PastValue, float32 [A, Heads, T, HeadSize], where T is 0 in the first step, and the encoder's CrossKey and
// CrossValue.
//
// Its outputs are Logits, float32 [B, S, Vocabulary]; for each layer PresentKey and PresentValue, [B, Heads, T+S,
// HeadSize]; and Attention, [B·S, P]: for each new token, its attention to the passages' tokens, averaged over
// layers and heads. Each row adds up to 1.
//
// It fails if c is invalid, a tensor is missing or the model would be too long for a file.
func WriteDecoder(w io.Writer, c Config, weights tensors.Weights) error {
	b, err := newBuilder(c, weights, "t5-decoder")
	if err != nil {
		return err
	}
	heads, size := onnx.Fixed(c.Heads), onnx.Fixed(c.HeadSize)
	rows, tokens := onnx.Varying("rows"), onnx.Varying("tokens")
	b.input(InputIDs, onnx.Int64, rows, tokens)
	b.input(Beams, onnx.Int64, rows)
	past := []onnx.Dim{onnx.Varying("before"), heads, onnx.Varying("past"), size}
	present := []onnx.Dim{rows, heads, onnx.Varying("present"), size}
	cross := []onnx.Dim{heads, onnx.Varying("kept"), size}
	b.output(Logits, rows, tokens, onnx.Fixed(c.Vocabulary))
	for i := range c.DecoderLayers {
		b.input(PastKey(i), onnx.Float, past...)
		b.input(PastValue(i), onnx.Float, past...)
		b.input(CrossKey(i), onnx.Float, cross...)
		b.input(CrossValue(i), onnx.Float, cross...)
		b.output(PresentKey(i), present...)
		b.output(PresentValue(i), present...)
	}
	b.output(Attention, onnx.Varying("new"), onnx.Varying("kept"))
	b.decoder()
	return b.write(w)
}

// decoder adds the nodes of one step of the decoder, with the outputs Logits, Attention and those for keys and
// values; the graph's inputs and outputs are declared by WriteDecoder.
func (b *builder) decoder() {
	c := &b.c
	table := b.floats(tableName, b.Read(tableName, c.Vocabulary, c.Dimension), c.Vocabulary, c.Dimension)
	rows := b.op("Gather", []string{table, InputIDs})
	before := b.axis(PastKey(0), 2)
	now := b.op("Add", []string{before, b.axis(InputIDs, 1)})
	joined := b.op(
		"Concat", []string{b.op("Shape", []string{InputIDs}), b.ints(int64(c.innerSize()))}, onnx.Int("axis", 0),
	)
	bias, attended := "", ""
	for i := range c.DecoderLayers {
		name := fmt.Sprintf("decoder.block.%d.layer.", i)
		if i == 0 {
			bias = b.decoderPositions(name+"0.SelfAttention.", b.count(before, now), b.count(b.scalar(0), now))
		}
		rows = b.attendBefore(i, name+"0.", rows, joined, bias)
		var share string
		rows, share = b.attendPassages(i, name+"1.", rows, joined)
		if attended != "" {
			share = b.op("Add", []string{attended, share})
		}
		attended = share
		rows = b.feedForward(name+"2.", rows)
	}
	b.graph.Add("Div", Attention, []string{attended, b.floats("layers", []float32{float32(c.DecoderLayers)})})
	b.head(table, b.normalise("decoder.final_", rows))
}

// head adds the output Logits: the logit of each piece of the vocabulary, for the value named rows. table names the
// table of pieces, which is used unless the head has a matrix of its own.
func (b *builder) head(table, rows string) {
	c := &b.c
	scale := float32(1)
	if c.ScaleOutputs {
		scale = float32(1 / math.Sqrt(float64(c.Dimension)))
	}
	if c.OwnHead {
		table = b.floats("lm_head.weight", b.Read("lm_head.weight", c.Vocabulary, c.Dimension), c.Vocabulary, c.Dimension)
	}
	flat := b.op("Reshape", []string{rows, b.ints(-1, int64(c.Dimension))})
	logits := b.op("Gemm", []string{flat, table}, onnx.Int("transB", 1), onnx.Real("alpha", scale))
	shape := b.op("Concat", []string{b.op("Shape", []string{InputIDs}), b.ints(int64(c.Vocabulary))}, onnx.Int("axis", 0))
	b.graph.Add("Reshape", Logits, []string{logits, shape})
}

// decoderPositions adds the biases of the decoder's attention to itself, [1, heads, queries, keys], and returns
// their name. name is the prefix of the table's tensor; queries and keys name their positions. The last row of the
// table is for keys behind their query, which no query may see.
func (b *builder) decoderPositions(name, queries, keys string) string {
	c := &b.c
	table := b.Read(name+"relative_attention_bias.weight", c.Buckets, c.Heads)
	if !b.Naming() {
		table = b.positionTable(table, -c.MaxDistance, 1, true)
		for h := range c.Heads {
			table[len(table)-1-h] = masked
		}
	}
	return b.positions(b.floats("decoder.positions", table, c.MaxDistance+2, c.Heads), queries, keys, -c.MaxDistance, 1)
}

// attendBefore adds the attention of each token to itself and those before it, in layer i, to the value named rows,
// with the outputs PresentKey and PresentValue, and returns the name of the sum. name is the prefix of the layer's
// tensors, joined names the shape [batch, tokens, inner size], and bias the biases of positions.
func (b *builder) attendBefore(i int, name, rows, joined, bias string) string {
	c := &b.c
	normal := b.normalise(name, rows)
	name += "SelfAttention."
	split := func(part string) string {
		values := b.linear(name+part, normal, c.innerSize(), c.Dimension)
		return b.op(
			"Transpose", []string{b.op("Reshape", []string{values, b.ints(0, 0, int64(c.Heads), int64(c.HeadSize))})},
			onnx.IntList("perm", 0, 2, 1, 3),
		)
	}
	query := split("q")
	extend := func(past, part, present string) string {
		before := b.op("Gather", []string{past, Beams})
		return b.graph.Add("Concat", present, []string{before, split(part)}, onnx.Int("axis", 2))
	}
	keys, values := extend(PastKey(i), "k", PresentKey(i)), extend(PastValue(i), "v", PresentValue(i))
	scores := b.op("Add", []string{b.op("FusedMatMul", []string{query, keys}, onnx.Int("transB", 1)), bias})
	context := b.op("MatMul", []string{b.op("Softmax", []string{scores}, onnx.Int("axis", -1)), values})
	context = b.op("Reshape", []string{b.op("Transpose", []string{context}, onnx.IntList("perm", 0, 2, 1, 3)), joined})
	return b.op("Add", []string{rows, b.linear(name+"o", context, c.Dimension, c.innerSize())})
}

// attendPassages adds the attention of each token to the tokens of all passages, in layer i, to the value named
// rows. out names the sum, and share the mean of the heads' attention, [B·S, P]. name is the prefix of the layer's
// tensors, and joined names the shape [batch, tokens, inner size]. All rows attend to the same keys, so that each
// head is one product of matrices.
func (b *builder) attendPassages(i int, name, rows, joined string) (out, share string) {
	c := &b.c
	normal := b.normalise(name, rows)
	name += "EncDecAttention."
	query := b.linear(name+"q", normal, c.innerSize(), c.Dimension)
	query = b.op(
		"Transpose", []string{b.op("Reshape", []string{query, b.ints(-1, int64(c.Heads), int64(c.HeadSize))})},
		onnx.IntList("perm", 1, 0, 2),
	)
	scores := b.op("FusedMatMul", []string{query, CrossKey(i)}, onnx.Int("transB", 1))
	weights := b.op("Softmax", []string{scores}, onnx.Int("axis", -1))
	context := b.op("Transpose", []string{b.op("MatMul", []string{weights, CrossValue(i)})}, onnx.IntList("perm", 1, 0, 2))
	context = b.op("Reshape", []string{context, joined})
	share = b.op("ReduceMean", []string{weights}, onnx.IntList("axes", 0), onnx.Int("keepdims", 0))
	return b.op("Add", []string{rows, b.linear(name+"o", context, c.Dimension, c.innerSize())}), share
}
