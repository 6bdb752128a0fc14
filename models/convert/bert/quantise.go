package bert

import (
	"math"

	"example.org/conclave/models/convert/onnx"
)

// weightLevels is the largest absolute code of a weight: 7 bits. With them the sum of two products of an unsigned 8-bit
// input and a weight stays within 16 bits, in which processors with AVX2 and without VNNI add. (On those, 8-bit weights
// saturate and give other vectors than elsewhere.)
const weightLevels = 63

// quantiser is how a layer's input x becomes 8 bits: x is stored as y = (x - shift) / scale, component by component,
// which costs nothing since the layer normalisation before it does that; then y is rounded to multiples of step, the
// same for all texts.
//
// Without shift and scale, the few large components of a BERT would leave the others only a few steps. Dividing inputs
// and multiplying weights is SmoothQuant (Xiao et al. 2023, equation 4).
type quantiser struct {
	shift, scale []float32
	step         float32
}

const (
	// smoothing is SmoothQuant's α: how much of the large components' size
	// the weights take over.
	smoothing = 0.65
	// margin is room above what the sample showed; what exceeds it is cut.
	margin = 1.3
)

// newQuantiser returns the quantiser for an input with the ranges r and this shift, which it keeps. Components that
// are large in the input or small in the weights of the layers that use it get a larger scale; the step leaves room
// for margin times the ranges.
func newQuantiser(r ranges, shift []float32, layers ...linear) quantiser {
	q := quantiser{shift: shift, scale: make([]float32, len(shift))}
	reach := r.distanceFrom(shift)
	var largest float64
	for j := range shift {
		weight := 1e-4
		for _, l := range layers {
			for i := j; i < len(l.weight); i += l.in {
				weight = max(weight, math.Abs(float64(l.weight[i])))
			}
		}
		a := max(float64(reach[j]), 1e-3)
		q.scale[j] = float32(math.Pow(a, smoothing) / math.Pow(weight, 1-smoothing))
		largest = max(largest, a/float64(q.scale[j]))
	}
	q.step = float32(largest * margin / 127)
	return q
}

// plainQuantiser returns a quantiser for an input with the ranges r that has only a step: each shift is 0 and each
// scale 1.
func plainQuantiser(r ranges) quantiser {
	d := len(r.low)
	q := quantiser{shift: make([]float32, d), scale: make([]float32, d)}
	var largest float32
	for j, a := range r.distanceFrom(q.shift) {
		q.scale[j] = 1
		largest = max(largest, a)
	}
	q.step = max(largest, 1e-3) * margin / 127
	return q
}

// storeFor returns a layer normalisation whose result is that of n as q stores it: less the shift, divided by the
// scale.
func (n norm) storeFor(q quantiser) norm {
	out := norm{gamma: make([]float32, len(n.gamma)), beta: make([]float32, len(n.beta))}
	for j := range n.gamma {
		out.gamma[j] = n.gamma[j] / q.scale[j]
		out.beta[j] = (n.beta[j] - q.shift[j]) / q.scale[j]
	}
	return out
}

// quantisedLayer is a linear layer in 8 bits for inputs that a quantiser stored.
type quantisedLayer struct {
	weight      []int8    // [in, out]
	scale, bias []float32 // [out]
}

// quantise returns the layer for inputs that q stored, with weights of 7 bits and one scale for each output. The
// bias makes up for the input's shift.
func (l linear) quantise(q quantiser) quantisedLayer {
	out := quantisedLayer{weight: make([]int8, len(l.weight)), scale: make([]float32, l.out), bias: make([]float32, l.out)}
	row := make([]float64, l.in)
	for o := range l.out {
		bias := float64(l.bias[o])
		largest := 0.0
		for i, w := range l.weight[o*l.in : (o+1)*l.in] {
			row[i] = float64(w) * float64(q.scale[i])
			bias += float64(float64(w) * float64(q.shift[i]))
			largest = max(largest, math.Abs(row[i]))
		}
		scale := float32(largest / weightLevels)
		if scale == 0 {
			scale = 1
		}
		for i, w := range row {
			out.weight[i*l.out+o] = int8(max(-weightLevels, min(weightLevels, math.RoundToEven(w/float64(scale)))))
		}
		out.scale[o] = scale
		out.bias[o] = float32(bias)
	}
	return out
}

// rowQuantised returns a table [rows, width] in 8 bits, from -127 to 127, and the scale of each row: value = code ·
// scale. A row of zeros has the scale 1.
func rowQuantised(table []float32, width int) (values []int8, scales []float32) {
	values, scales = make([]int8, len(table)), make([]float32, len(table)/width)
	for r := range scales {
		row := table[r*width : (r+1)*width]
		var largest float32
		for _, v := range row {
			largest = max(largest, v, -v)
		}
		scales[r] = largest / 127
		if scales[r] == 0 {
			scales[r] = 1
		}
		for j, v := range row {
			values[r*width+j] = int8(max(-127, min(127, math.RoundToEven(float64(v)/float64(scales[r])))))
		}
	}
	return values, scales
}

// product adds a node for the product of x with the weights l, and returns the name of the result, float32. x names
// values of 8 bits, step the scalar by which they are scaled, zero the code that stands for 0, and bias what is
// added; "": nothing. name begins the names of the constants.
func (b *builder) product(name string, l quantisedLayer, x, step, zero, bias string) string {
	in := len(l.weight) / len(l.scale)
	out := len(l.scale)
	inputs := []string{
		x, b.graph.Constant(onnx.Bytes(name+".weight", l.weight, in, out)),
		step, b.floats(name+".scale", l.scale, out), zero, "",
	}
	if bias != "" {
		inputs = append(inputs, bias)
	}
	return b.op("MatMulIntegerToFloat", inputs)
}
