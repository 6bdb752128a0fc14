// Package bert writes BERT encoders as ONNX graphs, from weights under the
// names that Hugging Face checkpoints give them.
//
// The architecture is that of Devlin et al. 2019 as the transformers library
// computes it: learned absolute positions, and relative ones in MPNet's way (relative.go),
// post-layer-norm blocks, exact or tanh-approximated GELU. Shapes are written [a, b];
// linear layers are stored as checkpoints store them, [out, in].
package bert

import (
	"errors"
	"fmt"

	"example.org/conclave/models/convert/tensors"
)

// Config is the shape of an encoder, from config.json.
type Config struct {
	Vocabulary   int // rows of the word-piece table
	Dimension    int // length of a token's vector
	Layers       int
	Heads        int
	Intermediate int // width of the feed-forward layer
	Positions    int // longest input, in tokens
	TokenTypes   int
	Activation   string // a key of activations
	LayerNormEps float32
	// Projection is the length of the vectors after a last linear layer
	// (DPR's encode_proj), or 0 for none.
	Projection int
	// Relative is the number of buckets of relative positions (see relative.go), or 0 for none.
	Relative int
}

// The activations that Config.Activation may name. gelu_new and its two
// other names are the tanh approximation.
const (
	gelu     = "gelu"
	geluTanh = "gelu_tanh"
	relu     = "relu"
)

var activations = map[string]string{
	"gelu": gelu, "gelu_new": geluTanh, "gelu_pytorch_tanh": geluTanh, "gelu_fast": geluTanh, "relu": relu,
}

// Validate returns an error for each impossible value of the configuration, joined, under its name in config.json;
// nil if there is none. The bounds are far above any published BERT and keep hostile numbers from becoming
// allocations.
func (c *Config) Validate() error {
	var all []error
	between := func(key string, v, low, high int) {
		if v < low || v > high {
			all = append(all, fmt.Errorf("%s is %d, not between %d and %d", key, v, low, high))
		}
	}
	between("vocab_size", c.Vocabulary, 1, 1<<21)
	between("hidden_size", c.Dimension, 1, 1<<14)
	between("num_hidden_layers", c.Layers, 1, 256)
	between("num_attention_heads", c.Heads, 1, 1<<10)
	between("intermediate_size", c.Intermediate, 1, 1<<16)
	between("max_position_embeddings", c.Positions, 3, 1<<17)
	between("type_vocab_size", c.TokenTypes, 1, 1<<10)
	between("projection_dim", c.Projection, 0, 1<<14)
	if c.Relative != 0 {
		between("relative_attention_num_buckets", c.Relative, 4, 1<<10)
	}
	if c.Heads > 0 && c.Dimension%c.Heads != 0 {
		all = append(all, fmt.Errorf("hidden_size %d is no multiple of num_attention_heads %d", c.Dimension, c.Heads))
	}
	if activations[c.Activation] == "" {
		all = append(
			all,
			fmt.Errorf("hidden_act is %q; gelu, gelu_new, gelu_pytorch_tanh, gelu_fast and relu are supported", c.Activation),
		)
	}
	if !(c.LayerNormEps >= 0 && c.LayerNormEps < 1) {
		all = append(all, fmt.Errorf("layer_norm_eps is %v, not between 0 and 1", c.LayerNormEps))
	}
	return errors.Join(all...)
}

// Output returns the length of a text's vector: Projection, or Dimension without one.
func (c *Config) Output() int {
	if c.Projection > 0 {
		return c.Projection
	}
	return c.Dimension
}

// Names returns the name and shape of every tensor of an encoder, in the order of computation, and last the
// projection's weight and bias; with pooler, those of the pooler are before these. Heads of other kinds are not in
// it (LateNames and others).
func (c *Config) Names(pooler bool) []tensors.TensorShape {
	b := &builder{c: *c}
	b.tables()
	b.readRelative()
	for i := range c.Layers {
		b.block(i)
	}
	if pooler {
		b.linear("pooler.dense", c.Dimension, c.Dimension)
	}
	if c.Projection > 0 {
		b.linear("encode_proj", c.Projection, c.Dimension)
	}
	return b.Wanted
}

// String returns the shape in a few words, for messages: "bert, 6 layers of 384, 12 heads".
func (c Config) String() string {
	s := fmt.Sprintf("bert, %d layers of %d, %d heads", c.Layers, c.Dimension, c.Heads)
	if c.Projection > 0 {
		s += fmt.Sprintf(", projection to %d", c.Projection)
	}
	return s
}
