package bert

import (
	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/tensors"
)

// A learned sparse encoder (SPLADE; Formal, Piwowarski and Clinchant 2021) is a masked language model, which gives
// each row h of the last layer a logit for each word piece j,
//
//	logit(h, j) = norm(f(dense·h + b))·word(j) + bias(j)
//
// with BERT's activation f and the table of words. The text's weight for j is the largest over its tokens of
// log(1 + max(logit, 0)). Since that grows with the logit, the largest is taken first.

// SparseNames returns the names and shapes of the tensors that the head of a masked language model has in addition
// to BERT's.
func SparseNames(c Config) []tensors.TensorShape {
	b := &builder{c: Config{Dimension: c.Dimension, Vocabulary: c.Vocabulary}}
	b.sparseLayers()
	return b.Wanted
}

// The names of these weights; words are the rows by which logits are made, often the table of words itself.
const (
	SparseDense = "mlm.dense"
	sparseNorm  = "mlm.norm"
	SparseWords = "mlm.words"
)

// sparseLayers reads the layers of a sparse expert's head, which is a masked language model's; see Loader.Read for
// errors.
func (b *builder) sparseLayers() (dense linear, n norm, words linear) {
	d := b.c.Dimension
	return b.linear(SparseDense, d, d), b.norm(sparseNorm), b.linear(SparseWords, b.c.Vocabulary, d)
}

// lowest is less than any logit, and that of padding.
const lowest = -1e30

// sparse adds the head of a sparse expert behind the value named rows, those of all tokens [batch·sequence,
// dimension], and returns the output Embedding: the weights of the word pieces, [batch, vocabulary], none below 0.
func (b *builder) sparse(rows string) []*onnx.Value {
	dense, n, words := b.sparseLayers()
	hidden := b.normalise(sparseNorm, n, b.activate(b.gemm(SparseDense, dense, rows)))
	logits := b.gemm(SparseWords, words, hidden)
	padded := b.op("Reshape", []string{ // 0, or lowest
		b.op("Mul", []string{
			b.op("Sub", []string{
				b.floats("mask.sparse", []float32{1}),
				b.op("Cast", []string{attentionMask}, onnx.Int("to", int64(onnx.Float))),
			}),
			b.floats("mask.lowest", []float32{lowest}),
		}),
		b.ints("shape.padded", -1, 1),
	})
	shape := b.op("Concat", []string{b.op("Shape", []string{inputIDs}), b.ints("width.sparse", int64(b.c.Vocabulary))},
		onnx.Int("axis", 0))
	tokens := b.op("Reshape", []string{b.op("Add", []string{logits, padded}), shape})
	most := b.op("Relu", []string{b.op("ReduceMax", []string{tokens}, onnx.IntList("axes", 1), onnx.Int("keepdims", 0))})
	b.graph.Add("Log", Embedding, []string{b.op("Add", []string{most, b.floats("one.sparse", []float32{1})})})
	return []*onnx.Value{onnx.NewValue(Embedding, onnx.Float, onnx.Varying("batch"), onnx.Fixed(b.c.Vocabulary))}
}
