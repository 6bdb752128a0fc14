package models

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/t5"
)

// A generator writes an answer from passages: a T5 used as Fusion-in-Decoder (Izacard &
// Grave 2021, "Leveraging Passage Retrieval with Generative Models"). It reads each
// passage as
//
//	question: QUESTION title: TITLE context: TEXT </s>
//
// cut at the end to PassageTokens, and attends to the tokens of all.

// Generator describes the graphs of a bundle of kind generator, which are those of
// conclave/models/convert/t5.
type Generator struct {
	// Encoder and Decoder are the graphs' files.
	Encoder string `yaml:"encoder"`
	Decoder string `yaml:"decoder"`
	// Layers, Heads and HeadSize are the decoder's, and Vocabulary the length of its
	// logits.
	Layers     int `yaml:"layers"`
	Heads      int `yaml:"heads"`
	HeadSize   int `yaml:"head_size"`
	Vocabulary int `yaml:"vocabulary"`
	// Start is the token before an answer; the tokenizer knows the token after it.
	Start int `yaml:"start"`
	// PassageTokens is the longest input.
	PassageTokens int `yaml:"passage_tokens"`
	// Beams is the number of beams in the search for an answer; 1 is greedy.
	Beams int `yaml:"beams"`
}

// CrossBytes returns the bytes of the decoder's keys and values for this many tokens: 2 · Layers · tokens · Heads ·
// HeadSize numbers of 4 bytes.
func (g *Generator) CrossBytes(tokens int) int64 {
	return 4 * 2 * int64(g.Layers) * int64(tokens) * int64(g.Heads) * int64(g.HeadSize)
}

// AnswerBytes returns the bytes of memory that an answer of `answer` tokens takes, from passages of `tokens` tokens
// together: the passages' keys and values for each layer of the decoder, those of the answer's own tokens for each
// beam, twice while one more is added, and the logits.
func (g *Generator) AnswerBytes(tokens, answer int) int64 {
	return g.CrossBytes(tokens) + 2*int64(g.Beams)*(g.CrossBytes(answer)+4*int64(g.Vocabulary))
}

// generator notes what is wrong with a generator's section: files that are not listed, numbers out of range, a
// delta.
func (v *validation) generator() {
	m := v.m
	if m.Delta != "" {
		v.fail("delta", "a generator has none")
	}
	v.file("tokenizer", m.Tokenizer)
	g := m.Generator
	v.file("generator.encoder", g.Encoder)
	v.file("generator.decoder", g.Decoder)
	v.between("generator.layers", g.Layers, 1, 256)
	v.between("generator.heads", g.Heads, 1, 1<<10)
	v.between("generator.head_size", g.HeadSize, 1, 1<<12)
	v.between("generator.vocabulary", g.Vocabulary, 2, 1<<21)
	v.between("generator.start", g.Start, 0, g.Vocabulary-1)
	v.between("generator.passage_tokens", g.PassageTokens, 16, 1<<14)
	v.between("generator.beams", g.Beams, 1, 64)
}

// generatorFingerprint returns the SHA-256, in hexadecimal, of everything that decides which answer is written. It
// is the same for both sides.
func (b *Bundle) generatorFingerprint() string {
	m := &b.Manifest
	g := b.Manifest.Generator
	hash := sha256.New()
	_, _ = fmt.Fprintf(
		hash, "conclave generator 1\nencoder %s\ndecoder %s\ntokenizer %s\nstart %d\npassage_tokens %d\nbeams %d\n",
		m.Files[g.Encoder], m.Files[g.Decoder], m.Files[m.Tokenizer], g.Start, g.PassageTokens, g.Beams,
	)
	return hex.EncodeToString(hash.Sum(nil))
}

// checkGenerator returns what is wrong with the encoder's and the decoder's graph of a generator; nil elements are
// no errors.
func (b *Bundle) checkGenerator() []error {
	g := b.Manifest.Generator
	open := onnx.Varying("")
	heads, size := onnx.Fixed(g.Heads), onnx.Fixed(g.HeadSize)
	tokens := []*onnx.Value{
		onnx.NewValue(t5.InputIDs, onnx.Int64, open, open),
		onnx.NewValue(t5.AttentionMask, onnx.Int64, open, open),
	}
	step := []*onnx.Value{tokens[0], onnx.NewValue(t5.Beams, onnx.Int64, open)}
	outputs := []*onnx.Value{
		onnx.NewValue(t5.Logits, onnx.Float, open, open, onnx.Fixed(g.Vocabulary)),
		onnx.NewValue(t5.Attention, onnx.Float, open, open),
	}
	var crossed []*onnx.Value
	for i := range g.Layers {
		for _, name := range []string{t5.CrossKey(i), t5.CrossValue(i)} {
			crossed = append(crossed, onnx.NewValue(name, onnx.Float, heads, open, size))
		}
		for _, name := range []string{t5.PastKey(i), t5.PastValue(i)} {
			step = append(step, onnx.NewValue(name, onnx.Float, open, heads, open, size))
		}
		for _, name := range []string{t5.PresentKey(i), t5.PresentValue(i)} {
			outputs = append(outputs, onnx.NewValue(name, onnx.Float, open, heads, open, size))
		}
	}
	inputs := append(step, crossed...)
	return []error{b.checkGraph(g.Encoder, tokens, crossed...), b.checkGraph(g.Decoder, inputs, outputs...)}
}
