package bert

import "fmt"

// block is the weights of one layer.
type block struct {
	query, key, value, output linear
	wide, narrow              linear
	attentionNorm, outputNorm norm
	// what relative positions add to scores (readRelative); nil: nothing
	relative []float32
}

// linear is y = weight·x + bias; weight is [out, in], row by row.
type linear struct {
	weight, bias []float32
	out, in      int
}

// norm is the scale and shift of a layer normalisation.
type norm struct{ gamma, beta []float32 }

// block returns the tensors of layer i, from 0, together with b.relative. Errors are kept in b.Err (Loader.Read), and
// the tensors are then zeros.
func (b *builder) block(i int) block {
	d, f := b.c.Dimension, b.c.Intermediate
	name := fmt.Sprintf("encoder.layer.%d.", i)
	return block{
		query:         b.linear(name+"attention.self.query", d, d),
		key:           b.linear(name+"attention.self.key", d, d),
		value:         b.linear(name+"attention.self.value", d, d),
		output:        b.linear(name+"attention.output.dense", d, d),
		attentionNorm: b.norm(name + "attention.output.LayerNorm"),
		wide:          b.linear(name+"intermediate.dense", f, d),
		narrow:        b.linear(name+"output.dense", d, f),
		outputNorm:    b.norm(name + "output.LayerNorm"),
		relative:      b.relative,
	}
}

// tables are the tables of embeddings, each [·, dimension], by a token's id, position and type, and the normalisation
// of their sum.
type tables struct {
	words, positions, types []float32
	norm                    norm
}

// tables reads the tensors of the embeddings; see Loader.Read for errors.
func (b *builder) tables() tables {
	d := b.c.Dimension
	return tables{
		words:     b.Read("embeddings.word_embeddings.weight", b.c.Vocabulary, d),
		positions: b.Read("embeddings.position_embeddings.weight", b.c.Positions, d),
		types:     b.Read("embeddings.token_type_embeddings.weight", b.c.TokenTypes, d),
		norm:      b.norm("embeddings.LayerNorm"),
	}
}

// linear reads the weight and the bias of a linear layer from `in` numbers to `out`: the tensors whose names are
// name with ".weight" and ".bias" behind it. See Loader.Read for errors.
func (b *builder) linear(name string, out, in int) linear {
	return linear{weight: b.Read(name+".weight", out, in), bias: b.Read(name+".bias", out), out: out, in: in}
}

// norm reads the scale and the shift of a layer normalisation: the tensors whose names are name with ".weight" and
// ".bias" behind it. See Loader.Read for errors.
func (b *builder) norm(name string) norm {
	return norm{gamma: b.Read(name+".weight", b.c.Dimension), beta: b.Read(name+".bias", b.c.Dimension)}
}

// transposeWeights returns a copy of the weight as [in, out].
func (l linear) transposeWeights() []float32 {
	t := make([]float32, len(l.weight))
	for o := range l.out {
		for i := range l.in {
			t[i*l.out+o] = l.weight[o*l.in+i]
		}
	}
	return t
}

// widenHeads returns a copy of the layer with one more output behind those of each head, so out+heads in all. The
// new outputs have a row of zeros as weights and this bias. inputs in input.go uses them to keep padding out.
func (l linear) widenHeads(heads int, bias float32) linear {
	size := l.out / heads
	w := linear{out: l.out + heads, in: l.in}
	w.weight = make([]float32, 0, w.out*w.in)
	w.bias = make([]float32, 0, w.out)
	for h := range heads {
		w.weight = append(w.weight, l.weight[h*size*l.in:(h+1)*size*l.in]...)
		w.weight = append(w.weight, make([]float32, l.in)...)
		w.bias = append(w.bias, l.bias[h*size:(h+1)*size]...)
		w.bias = append(w.bias, bias)
	}
	return w
}
