package bert

import "example.org/conclave/models/convert/onnx"

// outputs adds the nodes of the head behind the last layer's rows, and returns the graph's outputs. rows names
// them: [batch·sequence, dimension], or [batch, dimension] with h.firstTokenOnly.
func (b *builder) outputs(rows string, h Head) (all []*onnx.Value) {
	if h.Reader {
		return b.reader(rows, h.Selects)
	}
	if h.Rerank != "" {
		return b.reranker(rows, h.Rerank)
	}
	if h.Sparse {
		return b.sparse(rows)
	}
	if h.Late > 0 {
		all = append(all, b.late(rows, h.Late))
	}
	if h.Late == 0 || h.Pooling != "" {
		b.head(rows, h)
		all = append(all, onnx.NewValue(Embedding, onnx.Float, onnx.Varying("batch"), onnx.Fixed(b.c.Output())))
	}
	return all
}

// head adds nodes that pool the last layer's rows, project them and scale them to unit length, as h and the
// configuration say, with the output Embedding. rows names them, as for outputs.
func (b *builder) head(rows string, h Head) {
	d := b.c.Dimension
	tail := onnx.Tail{Graph: &b.graph, Prefix: "pool."}
	pooled := rows
	if !h.firstTokenOnly() {
		tokens := b.op("Reshape", []string{rows, valueShape})
		if h.Pooling == "mean" {
			pooled = tail.Mean(tokens, attentionMask)
		} else {
			pooled = tail.First(tokens)
		}
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

// gemm adds a linear layer in float32 behind the value named rows and returns the name of its output. name begins
// those of its two constants.
func (b *builder) gemm(name string, l linear, rows string) string {
	return b.op("Gemm", []string{rows, b.weight(name, l), b.floats(name+".bias", l.bias, l.out)})
}

// weight adds the transposed weight of a linear layer, [in, out], to the graph and returns its name: name with
// ".weight" behind it.
func (b *builder) weight(name string, l linear) string {
	return b.floats(name+".weight", l.transposeWeights(), l.in, l.out)
}
