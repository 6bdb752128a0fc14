package bert

import (
	"fmt"

	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/tensors"
)

// A cross-encoder (Nogueira and Cho 2019) sees a question and a passage as one text, and gives
// of the last layer's row h of the first token the logit that the passage answers:
//
//	score = w·f(dense·h + b) + c
//
// with f = tanh, or ReLU where Head.Rerank says so, in float32 also where the layers are in int8.

// The names of the weights that a cross-encoder has beside BERT's.
const (
	RerankerDense = "reranker.dense"
	RerankerScore = "reranker.score"
)

// Score is the name of a cross-encoder graph's output, float32 [batch].
const Score = "score"

// The values of Head.Rerank.
const (
	RerankTanh = "tanh"
	RerankReLU = "relu"
)

// RerankerNames returns the names and shapes of the tensors that a cross-encoder has in addition to BERT's, over
// rows of length dimension.
func RerankerNames(dimension int) []tensors.TensorShape {
	b := &builder{c: Config{Dimension: dimension}}
	b.rerankerLayers()
	return b.Wanted
}

// rerankerLayers reads the two layers of a cross-encoder's head; see Loader.Read for errors.
func (b *builder) rerankerLayers() (dense, score linear) {
	d := b.c.Dimension
	return b.linear(RerankerDense, d, d), b.linear(RerankerScore, 1, d)
}

// reranker adds the head of a cross-encoder behind the value named rows, the first tokens' [batch, dimension], and
// returns the output Score. activation is RerankReLU, or anything else for tanh. An encoder with a projection sets
// b.Err.
func (b *builder) reranker(rows, activation string) []*onnx.Value {
	if b.c.Projection > 0 && b.Err == nil {
		b.Err = fmt.Errorf("the encoder ends with a projection to %d; a cross-encoder has none", b.c.Projection)
	}
	dense, score := b.rerankerLayers()
	op := "Tanh"
	if activation == RerankReLU {
		op = "Relu"
	}
	pooled := b.op(op, []string{b.gemm(RerankerDense, dense, rows)})
	b.graph.Add("Reshape", Score, []string{b.gemm(RerankerScore, score, pooled), b.ints("shape.score", -1)})
	return []*onnx.Value{onnx.NewValue(Score, onnx.Float, onnx.Varying("batch"))}
}
