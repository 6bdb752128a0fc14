package tiny

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"

	"conclave/models"
	"conclave/models/bert"
	"conclave/models/ensemble"
)

// Weights gives the seeded weights of one side; without TwoTowers both sides
// have the question's.
func (o Options) Weights(side models.Side) bert.Weights {
	seed := o.Seed
	if o.TwoTowers && side == models.Passage {
		seed ^= 0x9e3779b97f4a7c15
	}
	return seeded(seed)
}

// seeded is a source of weights in which a tensor depends on the seed and its
// name alone.
type seeded uint64

// Tensor draws a tensor: layer norms near the identity, small biases, linear
// layers at half the scale that keeps a vector's length, and tables of rows
// of unit variance for words (so that texts differ by their words), less for
// positions. The importance of a late expert's tokens varies by a few times.
func (s seeded) Tensor(name string, shape ...int) ([]float32, error) {
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

// uniform draws from [-1, 1) in steps of 2⁻²³, the same on every machine.
func uniform(seed uint64, name string) func() float32 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name))
	source := rand.NewPCG(seed, hash.Sum64())
	return func() float32 { return float32(int64(source.Uint64()>>40)-1<<23) / (1 << 23) }
}

// EnsembleHidden is the width of the members' hidden layers: two for each
// dimension, so that a member can carry a vector through its ReLUs unchanged,
// as x = relu(x) - relu(-x).
func (o Options) EnsembleHidden() int {
	c := o.Config()
	return 2 * c.Output()
}

// Members are the ensemble's heads: the identity, disturbed in the last layer.
func (o Options) Members() []ensemble.Member {
	o = o.withDefaults()
	c := o.Config()
	d, h := c.Output(), o.EnsembleHidden()
	all := make([]ensemble.Member, o.EnsembleMembers)
	for k := range all {
		draw := uniform(o.Seed, fmt.Sprintf("ensemble.%d", k))
		m := &all[k]
		sizes := [4]int{d, h, h, d}
		for layer := range 3 {
			m.Weights[layer] = make([]float32, sizes[layer]*sizes[layer+1])
			m.Biases[layer] = make([]float32, sizes[layer+1])
		}
		for i := range d {
			m.Weights[0][(2*i)*d+i], m.Weights[0][(2*i+1)*d+i] = 1, -1
			m.Weights[2][i*h+2*i], m.Weights[2][i*h+2*i+1] = 1, -1
		}
		for i := range h {
			m.Weights[1][i*h+i] = 1
		}
		// A row of the last layer sums d numbers that are not 0.
		scale := o.Spread * float32(math.Sqrt(3/float64(d)))
		for i := range m.Weights[2] {
			m.Weights[2][i] += float32(scale * draw())
		}
	}
	return all
}
