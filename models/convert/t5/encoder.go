package t5

import (
	"fmt"
	"io"

	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/tensors"
)

// The names of the graphs' inputs and outputs; see WriteEncoder and WriteDecoder.
const (
	InputIDs      = "input_ids"
	AttentionMask = "attention_mask"
	States        = "states"
	Beams         = "beams"
	Logits        = "logits"
	Attention     = "attention"
)

// CrossKey returns the name of the keys that the encoder gives to a layer of the decoder.
func CrossKey(layer int) string { return fmt.Sprintf("cross.%d.key", layer) }

// CrossValue returns the name of the values that the encoder gives to a layer of the decoder.
func CrossValue(layer int) string { return fmt.Sprintf("cross.%d.value", layer) }

// tableName is the name of the table of pieces, which encoder, decoder and often the head share.
const tableName = "shared.weight"

// WriteEncoder writes the graph that reads the passages. Its inputs are InputIDs and AttentionMask, int64
// [passages, tokens]; padding may stand anywhere. Its outputs are the tokens' states without those of the padding,
// the passages' one after another: States, float32 [1, P, Dimension], and for each layer of the decoder what it
// makes of them, CrossKey and CrossValue, [Heads, P, HeadSize]. P is the number of ones in the mask.
//
// It fails if c is invalid, a tensor is missing or the model would be too long for a file.
func WriteEncoder(w io.Writer, c Config, weights tensors.Weights) error {
	b, err := newBuilder(c, weights, "t5-encoder")
	if err != nil {
		return err
	}
	tokens := []onnx.Dim{onnx.Varying("passages"), onnx.Varying("tokens")}
	b.input(InputIDs, onnx.Int64, tokens...)
	b.input(AttentionMask, onnx.Int64, tokens...)
	states := b.encoder()
	b.graph.Add("Unsqueeze", States, []string{states, b.ints(0)})
	b.output(States, onnx.Fixed(1), onnx.Varying("kept"), onnx.Fixed(c.Dimension))
	b.addCrossAttention(states)
	return b.write(w)
}

// encoder adds the nodes of the encoder and returns the name of the states of all tokens without padding, [P,
// Dimension].
func (b *builder) encoder() string {
	c := &b.c
	rows := b.op(
		"Gather",
		[]string{b.floats(tableName, b.Read(tableName, c.Vocabulary, c.Dimension), c.Vocabulary, c.Dimension), InputIDs},
	)
	at := b.count(b.scalar(0), b.axis(InputIDs, 1))
	bias := ""
	mask := b.op("Cast", []string{AttentionMask}, onnx.Int("to", int64(onnx.Int32)))
	for i := range c.EncoderLayers {
		name := fmt.Sprintf("encoder.block.%d.layer.0.", i)
		normal := b.normalise(name, rows)
		attention := name + "SelfAttention."
		if i == 0 {
			table := b.Read(attention+"relative_attention_bias.weight", c.Buckets, c.Heads)
			if !b.Naming() {
				table = b.positionTable(table, -c.MaxDistance, c.MaxDistance, false)
			}
			bias = b.positions(
				b.floats("encoder.positions", table, 2*c.MaxDistance+1, c.Heads), at, at, -c.MaxDistance, c.MaxDistance,
			)
		}
		context := b.op("MultiHeadAttention", []string{
			b.linear(attention+"q", normal, c.innerSize(), c.Dimension),
			b.linear(attention+"k", normal, c.innerSize(), c.Dimension),
			b.linear(attention+"v", normal, c.innerSize(), c.Dimension),
			"", mask, bias,
		}, onnx.Int("num_heads", int64(c.Heads)), onnx.Real("scale", 1), onnx.Real("mask_filter_value", masked))
		rows = b.op("Add", []string{rows, b.linear(attention+"o", context, c.Dimension, c.innerSize())})
		rows = b.feedForward(fmt.Sprintf("encoder.block.%d.layer.1.", i), rows)
	}
	rows = b.normalise("encoder.final_", rows)
	flat := b.op("Reshape", []string{rows, b.ints(-1, int64(c.Dimension))})
	real := b.op("NonZero", []string{b.op("Reshape", []string{AttentionMask, b.ints(-1)})})
	return b.op("Gather", []string{flat, b.op("Reshape", []string{real, b.ints(-1)})})
}

// masked is added to the scores of keys that are masked.
const masked = -1e30

// addCrossAttention adds the outputs CrossKey and CrossValue of each layer of the decoder, from the encoder's
// states, whose name is given, and declares them.
func (b *builder) addCrossAttention(states string) {
	c := &b.c
	for i := range c.DecoderLayers {
		name := fmt.Sprintf("decoder.block.%d.layer.1.EncDecAttention.", i)
		for _, part := range []struct{ weight, output string }{{"k", CrossKey(i)}, {"v", CrossValue(i)}} {
			rows := b.linear(name+part.weight, states, c.innerSize(), c.Dimension)
			heads := b.op("Reshape", []string{rows, b.ints(-1, int64(c.Heads), int64(c.HeadSize))})
			b.graph.Add("Transpose", part.output, []string{heads}, onnx.IntList("perm", 1, 0, 2))
			b.output(part.output, onnx.Fixed(c.Heads), onnx.Varying("kept"), onnx.Fixed(c.HeadSize))
		}
	}
}
