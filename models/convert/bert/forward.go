package bert

import (
	"context"
	"fmt"
	"math"

	"example.org/conclave/models/convert/tensors"
)

// Hidden returns the last layer's rows of one text, [tokens, dimension], computed in plain Go from the definition
// of BERT, with none of the graph's rearrangements. ids are the text's tokens, special ones included, and types
// their token types; nil: zeros. It fails for an invalid c, a missing tensor, an id or type outside of the tables,
// no tokens or more than the model has positions, and once ctx has ended. It is slow, about a millisecond a token
// for a small model. The import to int8 runs its layers to find the ranges of their inputs, and tests compare the
// graphs with it.
func Hidden(ctx context.Context, c Config, weights tensors.Weights, ids, types []int) ([]float32, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	b := &builder{c: c, Loader: tensors.Loader{Weights: weights}}
	b.readRelative()
	rows, err := b.tables().forward(&c, ids, types)
	if err != nil {
		return nil, err
	}
	for i := range c.Layers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows = c.forward(b.block(i), rows).output
	}
	return rows, b.Err
}

// forward returns the normalised embeddings of tokens, [tokens, dimension]. types nil stands for zeros. It fails
// for an id or type outside of the tables, and unless there are 1 to c.Positions tokens.
func (t tables) forward(c *Config, ids, types []int) ([]float32, error) {
	if len(ids) == 0 || len(ids) > c.Positions {
		return nil, fmt.Errorf("%d tokens; the model takes 1 to %d", len(ids), c.Positions)
	}
	d := c.Dimension
	rows := make([]float32, len(ids)*d)
	for i, id := range ids {
		kind := 0
		if types != nil {
			kind = types[i]
		}
		if id < 0 || id >= c.Vocabulary || kind < 0 || kind >= c.TokenTypes {
			return nil, fmt.Errorf("token %d of type %d is outside the model's tables", id, kind)
		}
		for j := range d {
			rows[i*d+j] = t.words[id*d+j] + t.positions[i*d+j] + t.types[kind*d+j]
		}
	}
	t.norm.forward(rows, d, c.LayerNormEps)
	return rows, nil
}

// layerOutput has the intermediate results and the result of a layer.
type layerOutput struct{ context, attended, output []float32 }

// forward computes layer l for a text, whose tokens have the vectors rows, [tokens, dimension], and returns the result
// and the intermediate ones. It does not change rows.
func (c *Config) forward(l block, rows []float32) layerOutput {
	d := c.Dimension
	var p layerOutput
	p.context = c.forwardAttention(l.query.forward(rows), l.key.forward(rows), l.value.forward(rows), l.relative)
	p.attended = l.output.forward(p.context)
	for i, v := range rows {
		p.attended[i] += v
	}
	l.attentionNorm.forward(p.attended, d, c.LayerNormEps)
	wide := l.wide.forward(p.attended)
	for i, v := range wide {
		wide[i] = c.forwardActivation(v)
	}
	p.output = l.narrow.forward(wide)
	for i, v := range p.attended {
		p.output[i] += v
	}
	l.outputNorm.forward(p.output, d, c.LayerNormEps)
	return p
}

// forwardAttention returns the attended values of a text for all heads, [tokens, dimension]: for each head the
// softmax of the queries' products with the keys, divided by the root of the head's size, times the values. q, k
// and v are [tokens, dimension]. relative has what is added to a score for each distance and head
// (builder.readRelative); nil: nothing.
func (c *Config) forwardAttention(q, k, v, relative []float32) []float32 {
	d := c.Dimension
	size := c.headSize()
	tokens := len(q) / d
	out := make([]float32, len(q))
	weights := make([]float64, tokens)
	for h := 0; h < d; h += size {
		for t := range tokens {
			largest := math.Inf(-1)
			for s := range tokens {
				weights[s] = float64(dot(q[t*d+h:t*d+h+size], k[s*d+h:s*d+h+size])) / math.Sqrt(float64(size))
				if relative != nil {
					weights[s] += float64(relative[(s-t+c.Positions-1)*c.Heads+h/size])
				}
				largest = max(largest, weights[s])
			}
			var sum float64
			for s := range weights {
				weights[s] = math.Exp(weights[s] - largest)
				sum += weights[s]
			}
			for s := range tokens {
				share := float32(weights[s] / sum)
				for j := range size {
					// The conversion forbids a fused multiply-add, so that
					// every machine computes the same.
					out[t*d+h+j] += float32(share * v[s*d+h+j])
				}
			}
		}
	}
	return out
}

// forwardActivation returns the model's activation function of v.
func (c *Config) forwardActivation(v float32) float32 {
	x := float64(v)
	switch activations[c.Activation] {
	case gelu:
		return float32(0.5 * x * (1 + math.Erf(x/math.Sqrt2)))
	case geluTanh:
		return float32(0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))))
	}
	return max(v, 0)
}

// forward returns the layer's result for rows [·, in] in new memory, [·, out].
func (l linear) forward(rows []float32) []float32 {
	n := len(rows) / l.in
	out := make([]float32, n*l.out)
	for o := range l.out {
		w := l.weight[o*l.in : (o+1)*l.in]
		for t := range n {
			out[t*l.out+o] = dot(w, rows[t*l.in:(t+1)*l.in]) + l.bias[o]
		}
	}
	return out
}

// dot returns the inner product of two vectors, of which b is at least as long as a. It keeps four sums, which is
// three times as fast as one, in an order that is the same on every machine.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		s0 += float32(x[0] * y[0])
		s1 += float32(x[1] * y[1])
		s2 += float32(x[2] * y[2])
		s3 += float32(x[3] * y[3])
	}
	for ; i < len(a); i++ {
		s0 += float32(a[i] * b[i])
	}
	return s0 + s1 + (s2 + s3)
}

// forward normalises each of the rows, [·, d], in place: to mean 0 and variance 1, then times gamma plus beta.
// epsilon is added to the variance.
func (n norm) forward(rows []float32, d int, epsilon float32) {
	for ; len(rows) >= d; rows = rows[d:] {
		row := rows[:d]
		var sum, squares float64
		for _, v := range row {
			sum += float64(v)
		}
		mean := sum / float64(d)
		for _, v := range row {
			squares += (float64(v) - mean) * (float64(v) - mean)
		}
		scale := 1 / math.Sqrt(squares/float64(d)+float64(epsilon))
		for j, v := range row {
			row[j] = float32((float64(v)-mean)*scale*float64(n.gamma[j]) + float64(n.beta[j]))
		}
	}
}
