package bert

import (
	"fmt"
	"io"

	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/tensors"
)

// Head is the part of an encoder behind its last layer.
type Head struct {
	// Pooling is "cls", "mean" or "pooler". With Late it may be "": then there
	// is no vector for the text.
	Pooling string
	// Normalise scales the vectors to unit length.
	Normalise bool
	// Late, if not 0, gives every token a vector of this length, too; see
	// late.go.
	Late int
	// Reader makes a reader, which gives no vectors: see reader.go. Selects says
	// that it has a selection.
	Reader, Selects bool
	// Rerank makes a cross-encoder, which gives no vectors: RerankTanh or RerankReLU; see
	// reranker.go.
	Rerank string
	// Sparse makes a sparse encoder; see sparse.go.
	Sparse bool
}

// firstTokenOnly reports whether the outputs of the head need the last layer's row of the first token alone: for
// any pooling but the mean, and for a reranker; never with Late, Reader or Sparse. The last layer then computes no
// other rows.
func (h Head) firstTokenOnly() bool {
	return h.Pooling != "mean" && h.Late == 0 && !h.Reader && !h.Sparse
}

// The names of the graph's inputs, int64 [batch, sequence], and outputs:
// with Head.Late Tokens, float32 [batch, sequence, Late+1], and with
// Head.Pooling Embedding, float32 [batch, Config.Output()]. A reader's are in
// reader.go.
const (
	inputIDs      = "input_ids"
	attentionMask = "attention_mask"
	tokenTypeIDs  = "token_type_ids"
	Embedding     = "embedding"
	Tokens        = "tokens"
)

// Write writes the encoder as an ONNX model in float32. It fails if c is invalid, a tensor is missing or the model
// would be too long for a file; what w has then is worth nothing.
//
// A text gets the same vector, to rounding, whatever else is in its batch and however long the padding behind it
// is; see input.go for how padding is kept out. Texts have to begin at the first position, with padding behind
// them. Weights have their names in a plain BertModel ("encoder.layer.0.attention.self.query.weight"; the
// projection is "encode_proj.weight").
func Write(w io.Writer, c Config, weights tensors.Weights, head Head) error {
	return write(w, c, weights, head, func(b *builder) string {
		hidden := b.floatEmbeddings(b.tables())
		for i := range c.Layers {
			hidden = b.floatLayer(i, b.block(i), hidden, head.firstTokenOnly() && i == c.Layers-1)
		}
		return hidden
	})
}

// write writes the graph of an encoder to w: inputs, then what body adds, then the head. body adds the embeddings and
// layers and returns the name of the last rows, as builder.outputs takes them. It fails if c is invalid, before body is
// called, if a tensor is missing or has another shape, or if w fails.
func write(w io.Writer, c Config, weights tensors.Weights, head Head, body func(*builder) string) error {
	if err := c.Validate(); err != nil {
		return err
	}
	b := &builder{c: c, Loader: tensors.Loader{Weights: weights}}
	b.readRelative()
	b.inputs()
	b.relativeInput()
	outputs := b.outputs(body(b), head)
	if b.Err != nil {
		return b.Err
	}
	for _, name := range []string{inputIDs, attentionMask, tokenTypeIDs} {
		b.graph.Inputs = append(
			b.graph.Inputs, onnx.NewValue(name, onnx.Int64, onnx.Varying("batch"), onnx.Varying("sequence")),
		)
	}
	b.graph.Name, b.graph.Outputs = "bert", outputs
	m := onnx.New("conclave", 17, &b.graph)
	m.Opsets = append(m.Opsets, &onnx.Opset{Domain: onnx.Microsoft, Version: 1})
	return m.Write(w)
}

// builder collects the nodes of a graph. It keeps the first error of reading a weight in Err; what follows is
// meaningless then.
type builder struct {
	tensors.Loader
	c     Config
	graph onnx.Graph
	// relative is what relative positions add to scores; see readRelative.
	relative []float32
	next     int // numbers values that have no name of their own
}

// op appends a node to the graph and returns the name of its output, which is made of op and a number.
func (b *builder) op(op string, inputs []string, attributes ...*onnx.Attribute) string {
	b.next++
	return b.graph.Add(op, fmt.Sprintf("%s_%d", op, b.next), inputs, attributes...)
}

// floats adds a constant of float32 with this name and shape to the graph and returns the name.
func (b *builder) floats(name string, values []float32, dims ...int) string {
	return b.graph.Constant(onnx.Floats(name, values, dims...))
}

// ints adds a constant vector of int64 with this name to the graph and returns the name.
func (b *builder) ints(name string, values ...int64) string {
	return b.graph.Constant(onnx.Ints(name, values, len(values)))
}

// scalar adds a constant int64 without axes to the graph and returns its name.
func (b *builder) scalar(name string, value int64) string {
	return b.graph.Constant(onnx.Ints(name, []int64{value}))
}
