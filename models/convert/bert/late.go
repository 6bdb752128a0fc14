package bert

import (
	"fmt"

	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/tensors"
)

// Late interaction (Khattab & Zaharia 2020, "ColBERT", section 3.1) keeps a
// vector for each token: the last layer's row, projected and scaled to unit
// length. Here each token also has a learned importance, which is used for
// questions only. For a last layer's row h the graph gives
//
//	p = projection·h,  vector = p / ‖p‖
//	importance = softplus(w·h/‖h‖ + b)
//
// all of it in float32, also where the layers are in int8: these are small
// products, and what they compute goes into the index as it is.

// The names of the weights that a late expert has beside BERT's.
const (
	LateProjection       = "late.projection.weight"
	LateImportanceWeight = "late.importance.weight"
	lateImportanceBias   = "late.importance.bias"
)

// LateNames returns the names and shapes of the tensors that a late expert has in addition to BERT's: late is the
// length of a token's vector, dimension that of the last layer's rows.
func LateNames(late, dimension int) []tensors.TensorShape {
	return []tensors.TensorShape{
		{Name: LateProjection, Shape: []int{late, dimension}},
		{Name: LateImportanceWeight, Shape: []int{1, dimension}},
		{Name: lateImportanceBias, Shape: []int{1}},
	}
}

// late adds the head of a late expert behind the value named rows, [batch·sequence, dimension], and returns the
// output Tokens, [batch, sequence, late+1]. An encoder with a projection sets b.Err.
func (b *builder) late(rows string, late int) *onnx.Value {
	d := b.c.Dimension
	if b.c.Projection > 0 && b.Err == nil {
		b.Err = fmt.Errorf(
			"the encoder ends with a projection to %d; a late expert's projection is behind the last layer",
			b.c.Projection,
		)
	}
	projection := linear{weight: b.Read(LateProjection, late, d), out: late, in: d}
	projected := b.op("MatMul", []string{rows, b.weight("late.projection", projection)})
	vector := onnx.Tail{Graph: &b.graph, Prefix: "late.vector."}.UnitLength(projected, late)

	// Dividing the product by the row's length is dividing the row by it.
	length := onnx.Tail{Graph: &b.graph, Prefix: "late.hidden."}.Length(rows, d)
	product := b.op("MatMul", []string{rows, b.floats(LateImportanceWeight, b.Read(LateImportanceWeight, 1, d), d, 1)})
	importance := b.op("Softplus", []string{b.op("Add", []string{
		b.op("Div", []string{product, length}),
		b.floats(lateImportanceBias, b.Read(lateImportanceBias, 1), 1),
	})})

	both := b.op("Concat", []string{vector, importance}, onnx.Int("axis", 1))
	shape := b.op(
		"Concat", []string{b.op("Shape", []string{inputIDs}), b.ints("width.tokens", int64(late)+1)},
		onnx.Int("axis", 0),
	)
	b.graph.Add("Reshape", Tokens, []string{both, shape})
	return onnx.NewValue(Tokens, onnx.Float, onnx.Varying("batch"), onnx.Varying("sequence"), onnx.Fixed(late+1))
}
