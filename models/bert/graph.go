package bert

import (
	"fmt"
	"io"

	"conclave/models/onnx"
)

// Head is what follows the last layer.
type Head struct {
	// Pooling is "cls", "mean" or "pooler".
	Pooling string
	// Normalise scales the vectors to unit length.
	Normalise bool
}

// The names of the graph's inputs, int64 [batch, sequence], and output,
// float32 [batch, Config.Output()].
const (
	InputIDs      = "input_ids"
	AttentionMask = "attention_mask"
	TokenTypeIDs  = "token_type_ids"
	Embedding     = "embedding"
)

// Write writes the encoder as an ONNX model. It uses ONNX Runtime's fused
// operators, which have kernels for CPU and CUDA: the runtime's own fusion
// finds them only in the exact shapes that certain exporters write.
func Write(w io.Writer, c Config, weights Weights, head Head) error {
	if err := c.Validate(); err != nil {
		return err
	}
	b := &builder{c: c, weights: weights}
	hidden := b.embeddings()
	for i := range c.Layers {
		hidden = b.layer(fmt.Sprintf("encoder.layer.%d.", i), hidden)
	}
	b.head(hidden, head)
	if b.err != nil {
		return b.err
	}
	sequence := []onnx.Dim{onnx.Varying("batch"), onnx.Varying("sequence")}
	b.graph.Name = "bert"
	b.graph.Inputs = []onnx.Value{
		{Name: InputIDs, Type: onnx.Int64, Shape: sequence},
		{Name: AttentionMask, Type: onnx.Int64, Shape: sequence},
		{Name: TokenTypeIDs, Type: onnx.Int64, Shape: sequence},
	}
	b.graph.Outputs = []onnx.Value{{Name: Embedding, Type: onnx.Float, Shape: []onnx.Dim{onnx.Varying("batch"), onnx.Fixed(int64(c.Output()))}}}
	m := onnx.Model{
		Producer: "conclave",
		Opsets:   []onnx.Opset{{Version: 17}, {Domain: onnx.Microsoft, Version: 1}},
		Graph:    b.graph,
	}
	return m.Write(w)
}

// builder collects the graph; the first error stops it.
type builder struct {
	c       Config
	weights Weights
	graph   onnx.Graph
	err     error
}

// embeddings sums the three tables' rows and normalises: [batch, sequence, dimension].
func (b *builder) embeddings() string {
	d := int64(b.c.Dimension)
	words := b.tensor("embeddings.word_embeddings.weight", int64(b.c.Vocabulary), d)
	positions := b.tensor("embeddings.position_embeddings.weight", int64(b.c.Positions), d)
	types := b.tensor("embeddings.token_type_embeddings.weight", int64(b.c.TokenTypes), d)
	gamma, beta := b.norm("embeddings.LayerNorm")
	// The fused operators take 32-bit integers.
	for _, name := range []string{InputIDs, TokenTypeIDs, AttentionMask} {
		b.op("Cast", []string{name}, name+"_32", attribute("to", int64(onnx.Int32)))
	}
	b.fused("EmbedLayerNormalization",
		[]string{InputIDs + "_32", TokenTypeIDs + "_32", words, positions, types, gamma, beta},
		[]string{"embeddings", "embeddings_mask"}, attribute("epsilon", b.c.LayerNormEps))
	return "embeddings"
}

// layer is one block: attention and feed-forward, each added to its input and
// normalised.
func (b *builder) layer(name, input string) string {
	context := b.attention(name+"attention", input)
	mixed := b.dense(name+"attention.output.dense", context, b.c.Dimension, b.c.Dimension)
	attended := b.addNorm(name+"attention.output", mixed, input)
	wide := b.dense(name+"intermediate.dense", attended, b.c.Intermediate, b.c.Dimension)
	active := b.activate(name+"intermediate", wide)
	narrow := b.dense(name+"output.dense", active, b.c.Dimension, b.c.Intermediate)
	return b.addNorm(name+"output", narrow, attended)
}

// attention is multi-head self-attention without its output layer. The three
// projections are one product with [dimension, 3·dimension].
func (b *builder) attention(name, input string) string {
	d := b.c.Dimension
	packed := make([]float32, d*3*d)
	bias := make([]float32, 0, 3*d)
	for i, part := range []string{"query", "key", "value"} {
		w := b.read(name+".self."+part+".weight", d, d)
		bias = append(bias, b.read(name+".self."+part+".bias", d)...)
		if b.err != nil {
			return ""
		}
		for out := range d {
			for in := range d {
				packed[in*3*d+i*d+out] = w[out*d+in]
			}
		}
	}
	b.constant(onnx.Floats(name+".self.weight", packed, int64(d), int64(3*d)))
	b.constant(onnx.Floats(name+".self.bias", bias, int64(3*d)))
	b.fused("Attention", []string{input, name + ".self.weight", name + ".self.bias", AttentionMask + "_32"},
		[]string{name + ".context"}, attribute("num_heads", int64(b.c.Heads)))
	return name + ".context"
}

// product is a linear layer's product; its bias is added by what follows,
// where the runtime has a kernel that does both.
type product struct{ output, bias string }

func (b *builder) dense(name, input string, out, in int) product {
	b.constant(onnx.Floats(name+".weight", b.transposed(name+".weight", out, in), int64(in), int64(out)))
	bias := b.tensor(name+".bias", int64(out))
	b.op("MatMul", []string{input, name + ".weight"}, name+".product")
	return product{output: name + ".product", bias: bias}
}

// addNorm is LayerNorm(p + bias + residual).
func (b *builder) addNorm(name string, p product, residual string) string {
	gamma, beta := b.norm(name + ".LayerNorm")
	out := name + ".normalised"
	b.fused("SkipLayerNormalization", []string{p.output, residual, gamma, beta, p.bias}, []string{out}, attribute("epsilon", b.c.LayerNormEps))
	return out
}

func (b *builder) activate(name string, p product) string {
	out := name + ".activated"
	switch activations[b.c.Activation] {
	case gelu:
		b.fused("BiasGelu", []string{p.output, p.bias}, []string{out})
	case geluTanh:
		b.fused("FastGelu", []string{p.output, p.bias}, []string{out})
	default:
		b.op("Add", []string{p.output, p.bias}, name+".biased")
		b.op("Relu", []string{name + ".biased"}, out)
	}
	return out
}

func (b *builder) norm(name string) (gamma, beta string) {
	d := int64(b.c.Dimension)
	return b.tensor(name+".weight", d), b.tensor(name+".bias", d)
}

// tensor puts a weight into the graph as it is, and gives its name.
func (b *builder) tensor(name string, dims ...int64) string {
	shape := make([]int, len(dims))
	for i, d := range dims {
		shape[i] = int(d)
	}
	if values := b.read(name, shape...); b.err == nil {
		b.constant(onnx.Floats(name, values, dims...))
	}
	return name
}

func (b *builder) read(name string, shape ...int) []float32 {
	if b.err != nil {
		return nil
	}
	var values []float32
	values, b.err = b.weights.Tensor(name, shape...)
	return values
}

// transposed reads a weight [out, in] as [in, out].
func (b *builder) transposed(name string, out, in int) []float32 {
	w := b.read(name, out, in)
	if b.err != nil {
		return make([]float32, out*in)
	}
	t := make([]float32, len(w))
	for o := range out {
		for i := range in {
			t[i*out+o] = w[o*in+i]
		}
	}
	return t
}

func (b *builder) constant(t onnx.Tensor) { b.graph.Initialisers = append(b.graph.Initialisers, t) }

func (b *builder) op(op string, inputs []string, output string, attributes ...onnx.Attribute) {
	b.graph.Nodes = append(b.graph.Nodes, onnx.Node{Name: output, Op: op, Inputs: inputs, Outputs: []string{output}, Attributes: attributes})
}

func (b *builder) fused(op string, inputs, outputs []string, attributes ...onnx.Attribute) {
	b.graph.Nodes = append(b.graph.Nodes, onnx.Node{Name: outputs[0], Op: op, Domain: onnx.Microsoft, Inputs: inputs, Outputs: outputs, Attributes: attributes})
}

func attribute(name string, value any) onnx.Attribute {
	return onnx.Attribute{Name: name, Value: value}
}
