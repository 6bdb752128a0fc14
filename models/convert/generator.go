package convert

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"example.org/conclave/internal/disk"
	"example.org/conclave/models"
	"example.org/conclave/models/convert/safetensors"
	"example.org/conclave/models/convert/t5"
)

const (
	generatorEncoder = "encoder.onnx"
	generatorDecoder = "decoder.onnx"
	// generatorTokens is what Fusion-in-Decoder was published with.
	generatorTokens = 250
	generatorBeams  = 1
)

// t5Config is the part of a T5's config.json by which it computes.
type t5Config struct {
	ModelType     string   `json:"model_type"`
	Vocabulary    int      `json:"vocab_size"`
	Dimension     int      `json:"d_model"`
	HeadSize      int      `json:"d_kv"`
	Intermediate  int      `json:"d_ff"`
	Layers        int      `json:"num_layers"`
	DecoderLayers *int     `json:"num_decoder_layers"`
	Heads         int      `json:"num_heads"`
	Buckets       *int     `json:"relative_attention_num_buckets"`
	MaxDistance   *int     `json:"relative_attention_max_distance"`
	Epsilon       *float64 `json:"layer_norm_epsilon"`
	FeedForward   *string  `json:"feed_forward_proj"`
	Tied          *bool    `json:"tie_word_embeddings"`
	Scaled        *bool    `json:"scale_decoder_outputs"`
	Start         *int     `json:"decoder_start_token_id"`
	Pad           *int     `json:"pad_token_id"`
	// PassageTokens is of conclave-train, which writes what question and passage were cut at.
	PassageTokens int `json:"passage_tokens"`
}

// t5Checkpoint is a published T5, with the tensor names of transformers or of Fusion-in-Decoder's code, which wraps the
// encoder and its blocks.
type t5Checkpoint struct {
	ctx    context.Context
	dir    string
	set    *safetensors.File
	config t5.Config
	// id of the token that an answer begins with
	start  int
	tokens int // that question and passage have together, at most
	// tensors have Fusion-in-Decoder's names
	fid bool
}

// isT5 reports whether dir has the config.json of a T5; false, too, if it cannot be read.
func isT5(dir string) bool {
	data, err := readSmall(filepath.Join(dir, "config.json"))
	var c t5Config
	return err == nil && json.Unmarshal(data, &c) == nil && c.ModelType == "t5"
}

// openT5 opens the T5 checkpoint in dir: its configuration, with the defaults of transformers for keys that it
// lacks, and its weights. Their names and shapes are not checked. The caller closes c.set. Tensor fails once ctx
// has ended. It fails for impossible configurations and without model.safetensors.
func openT5(ctx context.Context, dir string) (*t5Checkpoint, error) {
	path := filepath.Join(dir, "config.json")
	var h t5Config
	if err := readJSON(path, &h); err != nil {
		return nil, err
	}
	set, err := safetensors.OpenCheckpoint(dir)
	if err != nil {
		return nil, err
	}
	c := &t5Checkpoint{ctx: ctx, dir: dir, set: set, start: valueOr(h.Start, valueOr(h.Pad, 0))}
	c.tokens = cmp.Or(h.PassageTokens, generatorTokens)
	_, c.fid = set.Info(fidNames("encoder.block.0.layer.0.layer_norm.weight"))
	_, ownHead := set.Info("lm_head.weight")
	c.config = t5.Config{
		Vocabulary: h.Vocabulary, Dimension: h.Dimension, HeadSize: h.HeadSize, Heads: h.Heads, Intermediate: h.Intermediate,
		EncoderLayers: h.Layers, DecoderLayers: valueOr(h.DecoderLayers, h.Layers),
		Buckets: valueOr(h.Buckets, 32), MaxDistance: valueOr(h.MaxDistance, 128),
		FeedForward: valueOr(h.FeedForward, "relu"), NormEps: float32(valueOr(h.Epsilon, 1e-6)),
		// Version 1.1 has a head of its own and does not scale; transformers takes
		// tie_word_embeddings to tell the two apart.
		ScaleOutputs: valueOr(h.Scaled, valueOr(h.Tied, true)), OwnHead: ownHead,
	}
	if err := c.config.Validate(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), set.Close())
	}
	return c, nil
}

// fidNames returns the name that a checkpoint of Fusion-in-Decoder has for the T5 tensor name.
func fidNames(name string) string {
	if rest, ok := strings.CutPrefix(name, "encoder."); ok {
		return "encoder.encoder." + strings.Replace(rest, ".layer.", ".module.layer.", 1)
	}
	return name
}

// tensorName returns the checkpoint's name for the T5 tensor plain. For the table of pieces, which checkpoints name
// differently, it is the first of the usual names that is there.
func (c *t5Checkpoint) tensorName(plain string) string {
	if c.fid {
		plain = fidNames(plain)
	}
	if plain != "shared.weight" {
		return plain
	}
	for _, name := range []string{plain, "decoder.embed_tokens.weight", "encoder.embed_tokens.weight", "encoder.encoder.embed_tokens.weight"} {
		if _, ok := c.set.Info(name); ok {
			return name
		}
	}
	return plain
}

// Tensor returns the values of the T5 tensor name as float32; it implements tensors.Weights. It fails if the file has
// no such tensor of this shape, or cannot be read, and once the context of openT5 has ended.
func (c *t5Checkpoint) Tensor(name string, shape ...int) ([]float32, error) {
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	values, err := c.set.Floats(c.tensorName(name), shape...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.dir, err)
	}
	return values, nil
}

// wantedTensors returns the tensors that the graphs need, by the checkpoint's names, with their shapes.
func (c *t5Checkpoint) wantedTensors() (all []wantedTensor) {
	for _, n := range c.config.Names() {
		all = append(all, wantedTensor{c.tensorName(n.Name), n.Shape})
	}
	return all
}

// isUnused reports whether a tensor belongs to a T5 checkpoint without having a part in what it
// computes: other names of the table of pieces, and a bias that old checkpoints have for
// the attention to the encoder, which is not used.
func (c *t5Checkpoint) isUnused(name string) bool {
	return name == "shared.weight" || strings.HasSuffix(name, "embed_tokens.weight") ||
		strings.HasSuffix(name, "EncDecAttention.relative_attention_bias.weight")
}

// importGenerator makes the bundle outDir of the T5 checkpoint in srcDir. It fails, and changes nothing at outDir,
// if the checkpoint cannot be imported, and for options that a generator does not have.
func importGenerator(ctx context.Context, srcDir, outDir string, o Options) (*models.Bundle, error) {
	for option, given := range map[string]bool{
		"pooling": o.Pooling != "", "unit length": o.Normalise != nil, "template": o.Template != "", "output": o.Output != "",
		"passage encoder": o.PassageDir != "", "base": o.Base != "", "8-bit precision": o.Int8,
		"longest question": o.MaxTokens.Question != 0,
	} {
		if given {
			return nil, fmt.Errorf("this is a T5, which becomes a generator: the %s cannot be chosen", option)
		}
	}
	c, err := openT5(ctx, srcDir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.set.Close() }()
	if err := checkTensors(c.dir, c.set, c.wantedTensors(), c.isUnused); err != nil {
		return nil, err
	}
	const words = "tokenizer.json"
	tokenizer, err := disk.ReadRegular(filepath.Join(srcDir, words), mostTokenizer)
	if err != nil {
		return nil, fmt.Errorf(
			"%w (that of the T5 that it was trained from: save its tokenizer in transformers, which writes %s)", err,
			words,
		)
	}
	sum, err := models.HashFile(c.set.Path)
	if err != nil {
		return nil, err
	}
	m := models.Manifest{
		Format: models.Format, Name: cmp.Or(o.Name, nameOf(outDir)), Kind: models.KindGenerator,
		Precision: models.PrecisionFP32, Tokenizer: words,
		Generator: &models.Generator{
			Encoder: generatorEncoder, Decoder: generatorDecoder, Layers: c.config.DecoderLayers, Heads: c.config.Heads,
			HeadSize:   c.config.HeadSize,
			Vocabulary: c.config.Vocabulary, Start: c.start, PassageTokens: cmp.Or(o.MaxTokens.Passage, c.tokens),
			Beams: cmp.Or(o.Beams, generatorBeams),
		},
		Lineage: models.Lineage{
			Source:       cmp.Or(o.Source, filepath.Base(filepath.Clean(srcDir))),
			SourceSHA256: sum,
			Producer:     Producer,
			Licence:      cmp.Or(o.Licence, readLicence(filepath.Join(srcDir, "README.md"))),
			Architecture: c.config.String(),
		},
	}
	return writeBundle(outDir, m, nil, o.Check, []bundleFile{
		{words, func(w io.Writer) error { _, err := w.Write(tokenizer); return err }},
		{generatorEncoder, func(w io.Writer) error { return t5.WriteEncoder(w, c.config, c) }},
		{generatorDecoder, func(w io.Writer) error { return t5.WriteDecoder(w, c.config, c) }},
	})
}

// wantedTensor is a tensor's name in a checkpoint and its shape.
type wantedTensor struct {
	name  string
	shape []int
}

// checkTensors returns an error that lists the tensors of set that are missing, have another shape than wanted or a
// type that is not read, or are neither wanted nor isUnused; at most 8, with the number of the others; nil: all are
// right. dir names the checkpoint in the error. It reads no values. Imports call it before they write anything.
func checkTensors(dir string, set *safetensors.File, wanted []wantedTensor, isUnused func(name string) bool) error {
	var wrong []string
	known := map[string]bool{}
	for _, want := range wanted {
		known[want.name] = true
		info, ok := set.Info(want.name)
		switch {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("tensor %q is missing", want.name))
		case !slices.Equal(info.Shape, want.shape):
			wrong = append(
				wrong, fmt.Sprintf("tensor %q has shape %v, and %v by config.json", want.name, info.Shape, want.shape),
			)
		case info.Type != "F32" && info.Type != "F16" && info.Type != "BF16":
			wrong = append(wrong, fmt.Sprintf("tensor %q has type %s; F32, F16 and BF16 are read", want.name, info.Type))
		}
	}
	for _, name := range set.Names() {
		if !known[name] && !isUnused(name) {
			wrong = append(wrong, fmt.Sprintf("tensor %q is unexpected", name))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	const shown = 8
	more := ""
	if len(wrong) > shown {
		more = fmt.Sprintf("; and %d more", len(wrong)-shown)
		wrong = wrong[:shown]
	}
	return fmt.Errorf("%s: %s%s", dir, strings.Join(wrong, "; "), more)
}
