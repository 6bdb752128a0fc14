package tiny

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"

	"example.org/conclave/models"
	"example.org/conclave/models/convert/bert"
	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/tensors"
)

// Weights returns the random weights of one side's encoder; without TwoTowers both sides have the same. They exist
// for any name and shape.
func (o Expert) Weights(side models.Side) tensors.Weights {
	seed := o.Seed
	if o.TwoTowers && side == models.Passage {
		seed ^= 0x9e3779b97f4a7c15
	}
	return seededWeights(seed)
}

// seededWeights is a source of random weights. A tensor depends only on the seed and its name.
type seededWeights uint64

// Tensor returns a random tensor, and no error: layer norms near the identity, small biases, linear layers at half
// the scale that keeps a vector's length, tables with rows of unit variance for words (so that texts differ by
// their words), and less for positions. The importance of a late expert's tokens varies by a few times. shape has
// at least one axis.
func (s seededWeights) Tensor(name string, shape ...int) ([]float32, error) {
	n := 1
	for _, d := range shape {
		n *= d
	}
	draw := uniform(uint64(s), name)
	var centre, spread float64
	switch {
	case strings.HasSuffix(name, "LayerNorm.weight"):
		centre, spread = 1, 0.1
	case strings.HasSuffix(name, ".bias"):
		spread = 0.05
	case strings.Contains(name, "word_embeddings"):
		spread = math.Sqrt(3)
	case name == bert.LateImportanceWeight:
		spread = 2 * math.Sqrt(3)
	case strings.HasPrefix(name, "embeddings."):
		spread = 0.2
	default:
		spread = 0.5 * math.Sqrt(3/float64(shape[len(shape)-1]))
	}
	values := make([]float32, n)
	for i := range values {
		// The conversion forbids a fused multiply-add, which rounds otherwise.
		values[i] = float32(centre) + float32(float32(spread)*draw())
	}
	return values, nil
}

// uniform returns a function that draws from [-1, 1) in steps of 2⁻²³: for a seed and a name the same numbers on
// every machine.
func uniform(seed uint64, name string) func() float32 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name))
	source := rand.NewPCG(seed, hash.Sum64())
	return func() float32 { return float32(int64(source.Uint64()>>40)-1<<23) / (1 << 23) }
}

// Members returns the matrices of the ensemble's members, each [D, D], row by row: the identity with random numbers
// of about Spread added. It is empty without EnsembleMembers.
func (o Expert) Members() [][]float32 {
	o = o.withDefaults()
	c := o.Config()
	d := c.Output()
	all := make([][]float32, o.EnsembleMembers)
	scale := o.Spread * float32(math.Sqrt(3/float64(d))) // a row sums d numbers
	for k := range all {
		draw := uniform(o.Seed, fmt.Sprintf("ensemble.%d", k))
		all[k] = make([]float32, d*d)
		for i := range all[k] {
			all[k][i] = float32(scale * draw())
			if i%(d+1) == 0 {
				all[k][i]++
			}
		}
	}
	return all
}

// ensemble returns the ONNX graph of the ensemble: it multiplies each vector of the batch by the matrices of all
// members at once, and returns [batch, members, dimension].
func (o Expert) ensemble() *onnx.Model {
	members := o.Members()
	k := len(members)
	c := o.Config()
	d := c.Output()
	weight := make([]float32, d*k*d) // [in, members·out]
	for m, matrix := range members {
		for i, v := range matrix {
			weight[(i%d)*k*d+m*d+i/d] = v
		}
	}
	g := &onnx.Graph{
		Name: "ensemble",
		Initialisers: []*onnx.Tensor{
			onnx.Floats("weight", weight, d, k*d),
			onnx.Ints("shape", []int64{-1, int64(k), int64(d)}, 3),
		},
		Inputs: []*onnx.Value{onnx.NewValue(models.EnsembleInput, onnx.Float, onnx.Varying("batch"), onnx.Fixed(d))},
		Outputs: []*onnx.Value{
			onnx.NewValue(models.EnsembleOutput, onnx.Float, onnx.Varying("batch"), onnx.Fixed(k), onnx.Fixed(d)),
		},
	}
	g.Add("MatMul", "product", []string{models.EnsembleInput, "weight"})
	g.Add("Reshape", models.EnsembleOutput, []string{"product", "shape"})
	return onnx.New("conclave", 17, g)
}
