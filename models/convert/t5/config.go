// Package t5 writes T5 encoder–decoders as ONNX graphs that compute
// Fusion-in-Decoder, from weights under the names that Hugging Face checkpoints give
// them.
//
// The architecture is that of Raffel et al. 2020 (T5) and its version 1.1, as the
// transformers library computes it: RMS normalisation before each part, a bias by
// relative position in place of positions, no other biases, and scores that are not
// scaled. Fusion-in-Decoder (Izacard & Grave 2021) encodes each passage by itself,
// beside the question, and lets the decoder attend to the tokens of all of them.
// Shapes are written [a, b]; linear layers are stored as checkpoints store them,
// [out, in].
package t5

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Config is the shape of a T5, from config.json.
type Config struct {
	Vocabulary    int // rows of the table of pieces
	Dimension     int // of a token's state
	HeadSize      int // of one head's query, key or value
	Heads         int
	Intermediate  int // width of the feed-forward layer
	EncoderLayers int
	DecoderLayers int
	Buckets       int // of relative positions
	MaxDistance   int // positions further apart share the last bucket
	// FeedForward is an activation ("relu", "gelu", "gelu_new", "silu"), or one
	// behind "gated-": then the activated half is multiplied with a linear one.
	FeedForward string
	NormEps     float32
	// ScaleOutputs divides the last states by √Dimension before the head, as the
	// first T5 does, whose head is its table of pieces.
	ScaleOutputs bool
	// OwnHead says that the head is a matrix of its own, lm_head.weight.
	OwnHead bool
}

// Validate returns an error for each impossible value of the configuration, joined, under its name in config.json;
// nil if there is none. The bounds are far above any published T5 and keep hostile numbers from becoming
// allocations.
func (c *Config) Validate() error {
	var all []error
	between := func(key string, v, low, high int) {
		if v < low || v > high {
			all = append(all, fmt.Errorf("%s is %d, not between %d and %d", key, v, low, high))
		}
	}
	between("vocab_size", c.Vocabulary, 1, 1<<21)
	between("d_model", c.Dimension, 1, 1<<14)
	between("d_kv", c.HeadSize, 1, 1<<12)
	between("num_heads", c.Heads, 1, 1<<10)
	between("d_ff", c.Intermediate, 1, 1<<17)
	between("num_layers", c.EncoderLayers, 1, 256)
	between("num_decoder_layers", c.DecoderLayers, 1, 256)
	between("relative_attention_num_buckets", c.Buckets, 4, 1<<12)
	between("relative_attention_max_distance", c.MaxDistance, c.Buckets/2+1, 1<<16)
	if activations[c.activationName()] == "" {
		all = append(
			all,
			fmt.Errorf(
				"feed_forward_proj is %q; relu, gelu, gelu_new and silu are supported, each also behind gated-",
				c.FeedForward,
			),
		)
	}
	if !(c.NormEps >= 0 && c.NormEps < 1) {
		all = append(all, fmt.Errorf("layer_norm_epsilon is %v, not between 0 and 1", c.NormEps))
	}
	return errors.Join(all...)
}

// activations has the operator of each activation, by its name in checkpoints.
var activations = map[string]string{"relu": "Relu", "gelu": "Gelu", "gelu_new": "FastGelu", "silu": silu}

const silu = "Sigmoid" // to be multiplied with its input

// isGated reports whether the feed-forward layers multiply the activated values with a second product, the gate.
func (c *Config) isGated() bool { return strings.HasPrefix(c.FeedForward, "gated-") }

// activationName returns the key in activations of the model's activation: FeedForward without "gated-". "gated-gelu"
// is "gelu_new", since transformers computes it so for the sake of old checkpoints.
func (c *Config) activationName() string {
	if c.FeedForward == "gated-gelu" {
		return "gelu_new"
	}
	return strings.TrimPrefix(c.FeedForward, "gated-")
}

// innerSize returns the length of all heads' queries, keys or values together.
func (c *Config) innerSize() int { return c.Heads * c.HeadSize }

// String returns the shape in words, for messages.
func (c Config) String() string {
	return fmt.Sprintf(
		"t5, %d and %d layers of %d, %d heads of %d, %s", c.EncoderLayers, c.DecoderLayers, c.Dimension, c.Heads,
		c.HeadSize, c.FeedForward,
	)
}

// biasRow returns the row, from 0, of the checkpoint's table of biases for a key that is distance positions behind
// its query, negative for one before it. decoder chooses the decoder's table, whose keys are never behind: a
// positive distance counts as 0. It is computed in float32 as transformers does, so that distances at a bucket's
// edge fall on the same side.
func (c *Config) biasRow(distance int, decoder bool) int {
	buckets := c.Buckets
	from := 0
	switch {
	case decoder:
		distance = max(-distance, 0)
	default:
		buckets /= 2
		if distance > 0 {
			from = buckets
		}
		distance = max(distance, -distance)
	}
	exact := buckets / 2
	if distance < exact {
		return from + distance
	}
	share := float32(math.Log(float64(float32(distance)/float32(exact)))) /
		float32(math.Log(float64(c.MaxDistance)/float64(exact)))
	far := share * float32(buckets-exact)
	return from + min(exact+int(far), buckets-1)
}
