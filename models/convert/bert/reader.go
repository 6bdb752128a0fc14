package bert

import (
	"fmt"

	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/tensors"
)

// A reader (Karpukhin et al. 2020, DPR, section 6.1) sees a question and a
// passage as one text. For each token it gives the logits that an answer
// starts and ends there; for the whole, the logit that the passage answers.
// For a last layer's rows h the graph gives
//
//	start, end = span·h_i + b     of each token i
//	select     = select·h_1 + b   of the first token
//
// in float32, also where the layers are in int8.

// The names of the weights that a reader has beside BERT's.
const (
	ReaderSpan       = "reader.span.weight"
	readerSpanBias   = "reader.span.bias"
	ReaderSelect     = "reader.select.weight"
	readerSelectBias = "reader.select.bias"
)

// The names of a reader graph's outputs, float32: Start and End [batch,
// sequence], of padded positions without meaning, and Select [batch].
const (
	Start  = "start"
	End    = "end"
	Select = "select"
)

// ReaderNames returns the names and shapes of the tensors that a reader has in addition to BERT's, over rows of
// length dimension. selects reports whether it has a selection, whose tensors are last.
func ReaderNames(dimension int, selects bool) []tensors.TensorShape {
	all := []tensors.TensorShape{{Name: ReaderSpan, Shape: []int{2, dimension}}, {Name: readerSpanBias, Shape: []int{2}}}
	if selects {
		all = append(
			all, tensors.TensorShape{Name: ReaderSelect, Shape: []int{1, dimension}},
			tensors.TensorShape{Name: readerSelectBias, Shape: []int{1}},
		)
	}
	return all
}

// reader adds the head of a reader behind the value named rows, [batch·sequence, dimension], and returns the
// outputs Start and End and, with selects, Select. An encoder with a projection sets b.Err.
func (b *builder) reader(rows string, selects bool) []*onnx.Value {
	d := b.c.Dimension
	if b.c.Projection > 0 && b.Err == nil {
		b.Err = fmt.Errorf("the encoder ends with a projection to %d; a reader has none", b.c.Projection)
	}
	weight, bias := b.Read(ReaderSpan, 2, d), b.Read(readerSpanBias, 2)
	shape := b.op("Shape", []string{inputIDs})
	var all []*onnx.Value
	for i, name := range []string{Start, End} {
		one := linear{weight: weight[i*d : (i+1)*d], bias: bias[i : i+1], out: 1, in: d}
		b.graph.Add("Reshape", name, []string{b.gemm("reader."+name, one, rows), shape})
		all = append(all, onnx.NewValue(name, onnx.Float, onnx.Varying("batch"), onnx.Varying("sequence")))
	}
	if selects {
		logit := b.gemm("reader."+Select, b.linear("reader.select", 1, d), b.firstRows(rows))
		b.graph.Add("Reshape", Select, []string{logit, b.ints("shape.select", -1)})
		all = append(all, onnx.NewValue(Select, onnx.Float, onnx.Varying("batch")))
	}
	return all
}
