// Package ensemble writes an expert's ensemble as an ONNX graph: K heads that
// each map a question's vector to another. MUF reads the expert's uncertainty
// from how far they disagree (dpr-muf, section 3.1; the members are
// independent networks in spite of the name BatchEnsemble).
package ensemble

import (
	"fmt"
	"io"

	"conclave/models/onnx"
)

// Member holds one head's weights: three linear layers, dimension → hidden →
// hidden → dimension, with ReLU after the first two. A weight is [out, in],
// row by row, as PyTorch's Linear has it.
type Member struct {
	Weights [3][]float32
	Biases  [3][]float32
}

// The graph's input, float32 [batch, dimension], and output, float32
// [batch, members, dimension].
const (
	Input  = "vector"
	Output = "members"
)

// Write writes the members as one graph in which each layer is one batched
// matrix product over all members.
func Write(w io.Writer, dimension, hidden int, members []Member) error {
	if dimension < 1 || hidden < 1 || len(members) == 0 {
		return fmt.Errorf("an ensemble of %d members, %d → %d: each must be at least 1", len(members), dimension, hidden)
	}
	k := len(members)
	widths := [4]int{dimension, hidden, hidden, dimension}
	g := &onnx.Graph{
		Name:    "ensemble",
		Inputs:  []*onnx.Value{onnx.NewValue(Input, onnx.Float, onnx.Varying("batch"), onnx.Fixed(dimension))},
		Outputs: []*onnx.Value{onnx.NewValue(Output, onnx.Float, onnx.Varying("batch"), onnx.Fixed(k), onnx.Fixed(dimension))},
	}
	previous := Input // [batch, dimension] broadcasts over the members
	for layer := range 3 {
		weight, bias, err := stack(members, layer, widths[layer], widths[layer+1])
		if err != nil {
			return err
		}
		name := fmt.Sprintf("layer%d", layer)
		g.Initialisers = append(g.Initialisers,
			onnx.Floats(name+".weight", weight, k, widths[layer], widths[layer+1]),
			onnx.Floats(name+".bias", bias, k, 1, widths[layer+1]))
		g.Add("MatMul", name+".product", []string{previous, name + ".weight"}) // [members, batch, out]
		previous = g.Add("Add", name+".sum", []string{name + ".product", name + ".bias"})
		if layer < 2 {
			previous = g.Add("Relu", name, []string{previous})
		}
	}
	g.Add("Transpose", Output, []string{previous}, onnx.IntList("perm", 1, 0, 2))
	return onnx.New("conclave", 17, g).Write(w)
}

// stack puts one layer of all members into [members, in, out] and
// [members, 1, out].
func stack(members []Member, layer, in, out int) (weight, bias []float32, err error) {
	weight = make([]float32, 0, len(members)*in*out)
	bias = make([]float32, 0, len(members)*out)
	for k, m := range members {
		w, b := m.Weights[layer], m.Biases[layer]
		if len(w) != in*out || len(b) != out {
			return nil, nil, fmt.Errorf("member %d, layer %d: a weight of %d and a bias of %d numbers; [%d, %d] and [%d] are needed", k, layer, len(w), len(b), out, in, out)
		}
		for i := range in {
			for o := range out {
				weight = append(weight, w[o*in+i])
			}
		}
		bias = append(bias, b...)
	}
	return weight, bias, nil
}
