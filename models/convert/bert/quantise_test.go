package bert

import (
	"math"
	"math/rand/v2"
	"testing"
)

func random(source *rand.Rand, n int, spread float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(spread * source.NormFloat64())
	}
	return v
}

// TestQuantisedProduct computes with the codes what ONNX Runtime computes and
// compares with the product in float64: the shift and scale of the input are
// undone, and the error is that of the rounding.
func TestQuantisedProduct(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 1))
	const in, out, rows = 48, 20, 50
	l := linear{weight: random(source, in*out, 0.1), bias: random(source, out, 1), in: in, out: out}
	x := random(source, rows*in, 1)
	for r := range rows {
		x[r*in+7] += 30 // as BERTs have: one component far out
		x[r*in+9] *= 0.01
	}
	var seen ranges
	seen.includeRows(x, in)
	q := newQuantiser(seen, seen.middleOf(), l)
	w := l.quantise(q)
	for _, code := range w.weight {
		if code > weightLevels || code < -weightLevels {
			t.Fatalf("weight code %d", code)
		}
	}
	var worst, size float64
	for r := range rows {
		codes := make([]int32, in)
		for i := range codes {
			stored := (x[r*in+i] - q.shift[i]) / q.scale[i]
			codes[i] = int32(math.RoundToEven(float64(stored/q.step))) + 128
			if codes[i] < 0 || codes[i] > 255 {
				t.Fatalf("input code %d: what was seen must fit", codes[i])
			}
		}
		for o := range out {
			var sum int32
			want := float64(l.bias[o])
			for i := range in {
				sum += (codes[i] - 128) * int32(w.weight[i*out+o])
				want += float64(x[r*in+i]) * float64(l.weight[o*in+i])
			}
			got := float64(sum)*float64(q.step)*float64(w.scale[o]) + float64(w.bias[o])
			worst, size = max(worst, math.Abs(got-want)), max(size, math.Abs(want-float64(l.bias[o])))
		}
	}
	t.Logf("products up to %.2f, errors up to %.3f", size, worst)
	if worst > 0.04*size {
		t.Errorf("an error of %g in products up to %g", worst, size)
	}
}

// TestNoSaturation: the largest sum of two products fits 16 bits.
func TestNoSaturation(t *testing.T) {
	if sum := 2 * 255 * weightLevels; sum > math.MaxInt16 {
		t.Errorf("%d", sum)
	}
}

func TestRowQuantised(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	table := random(source, 10*8, 2)
	clear(table[8:16])
	values, scales := rowQuantised(table, 8)
	for i, v := range table {
		if got := float64(values[i]) * float64(scales[i/8]); math.Abs(got-float64(v)) > float64(scales[i/8])/2*1.001 {
			t.Errorf("%v became %v in steps of %v", v, got, scales[i/8])
		}
	}
}

// TestWidened: each head's outputs stay in place and one with its bias alone
// comes behind them.
func TestWidened(t *testing.T) {
	l := linear{weight: []float32{1, 2, 3, 4, 5, 6, 7, 8}, bias: []float32{10, 20, 30, 40}, in: 2, out: 4}
	got := l.widenHeads(2, 9).forward([]float32{1, 100})
	for i, want := range []float32{211, 423, 9, 635, 847, 9} {
		if got[i] != want {
			t.Fatalf("%v", got)
		}
	}
}

func TestRanges(t *testing.T) {
	var r ranges
	r.includeRows([]float32{1, -2, 3, 4, -5, 6}, 2)
	if r.low[0] != -5 || r.high[0] != 3 || r.low[1] != -2 || r.high[1] != 6 {
		t.Errorf("%+v", r)
	}
	if m := r.middleOf(); m[0] != -1 || m[1] != 2 {
		t.Errorf("middle %v", m)
	}
	if a := r.distanceFrom([]float32{0, 5}); a[0] != 5 || a[1] != 7 {
		t.Errorf("around %v", a)
	}
}
