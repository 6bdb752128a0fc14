package bert

import (
	"conclave/models/onnx"
)

// head pools the last layer's vectors [batch, sequence, dimension] to one
// vector a text, projects and normalises it.
func (b *builder) head(hidden string, h Head) {
	d := b.c.Dimension
	var pooled string
	switch h.Pooling {
	case "mean":
		pooled = onnx.MeanPool(&b.graph, hidden, AttentionMask)
	default:
		pooled = onnx.FirstToken(&b.graph, hidden)
	}
	if h.Pooling == "pooler" {
		p := b.linear("pooler.dense", pooled, d, d)
		b.op("Tanh", []string{p}, "pooler")
		pooled = "pooler"
	}
	if b.c.Projection > 0 {
		pooled = b.linear("encode_proj", pooled, b.c.Projection, d)
	}
	if h.Normalise {
		pooled = onnx.UnitLength(&b.graph, pooled)
	}
	b.op("Identity", []string{pooled}, Embedding)
}

// linear is a whole linear layer on [batch, in].
func (b *builder) linear(name, input string, out, in int) string {
	p := b.dense(name, input, out, in)
	b.op("Add", []string{p.output, p.bias}, name)
	return name
}
