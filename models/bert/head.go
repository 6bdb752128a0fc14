package bert

import "conclave/models/onnx"

// output appends what the head asks for and returns what comes out.
func (b *builder) output(rows string, h Head) onnx.Value {
	if h.Late > 0 {
		return b.late(rows, h.Late)
	}
	b.head(rows, h)
	return onnx.Value{Name: Embedding, Type: onnx.Float, Shape: []onnx.Dim{onnx.Varying("batch"), onnx.Fixed(int64(b.c.Output()))}}
}

// head pools the last layer's rows, projects and normalises. The rows are
// [batch·sequence, dimension], or [batch, dimension] where only the first
// tokens' are there.
func (b *builder) head(rows string, h Head) {
	d := b.c.Dimension
	tail := onnx.Tail{Graph: &b.graph, Prefix: "pool."}
	pooled := rows
	if !h.firstTokenOnly() {
		pooled = tail.Mean(b.op("Reshape", []string{rows, valueShape}), AttentionMask)
	}
	if h.Pooling == "pooler" {
		pooled = b.op("Tanh", []string{b.gemm("pooler.dense", b.linear("pooler.dense", d, d), pooled)})
	}
	if b.c.Projection > 0 {
		pooled = b.gemm("encode_proj", b.linear("encode_proj", b.c.Projection, d), pooled)
	}
	if h.Normalise {
		pooled = tail.UnitLength(pooled, b.c.Output())
	}
	tail.Name(pooled, Embedding)
}

// gemm is a linear layer in float32.
func (b *builder) gemm(name string, l linear, rows string) string {
	return b.op("Gemm", []string{rows, b.weight(name, l), b.floats(name+".bias", l.bias, l.out)})
}

func (b *builder) weight(name string, l linear) string {
	return b.floats(name+".weight", l.transposed(), l.in, l.out)
}
