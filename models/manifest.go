// Package models handles expert bundles: folders that hold one expert each,
// its encoders as ONNX graphs, its tokenizer, and a manifest that says all
// that is needed to use them. It verifies bundles when they are loaded. Package
// convert makes them from published checkpoints and from deltas.
//
// Terms: an expert turns questions and passages into vectors whose inner
// product says how well the passage answers. Its question side and its
// passage side may be one graph or two (two towers). Pooling is the step from
// one vector per token to one per text; a late expert leaves it out. A
// fingerprint is a hash of everything that decides which vector a text gets.
package models

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// ManifestFile is the name of the manifest in a bundle's folder.
const ManifestFile = "expert.yaml"

// Format is the version of the bundle format that this package writes and
// the only one it reads.
const Format = 1

// The values of Manifest's enumerations, as they stand in expert.yaml.
const (
	KindDense  = "dense"  // texts become one vector each
	KindLate   = "late"   // and here one vector a token; see late.go
	KindReader = "reader" // no vectors: it marks answers in passages; see reader.go
	// KindDesireMe is a head on another expert's question vectors; see desireme.go.
	KindDesireMe = "desire-me"

	KindGenerator = "generator" // no vectors: it writes answers; see generator.go

	PoolingCLS    = "cls"    // the first token's vector
	PoolingMean   = "mean"   // the mean over the text's tokens
	PoolingPooler = "pooler" // BERT's pooler: tanh(W·cls + b)
	PoolingGraph  = "graph"  // an exported graph's own, whatever it is
	PoolingTokens = "tokens" // none: a late expert's

	TemplateText         = "text"           // a passage is its text alone
	TemplateTitleDotText = "title-dot-text" // title + ". " + text; the text alone where there is no title
	TemplatePair         = "pair"           // [CLS] title [SEP] text [SEP], token types all zero, as DPR
	TemplateSQuAD        = "squad"          // a reader's; see reader.go

	SimilarityInnerProduct = "inner-product"

	PrecisionFP32 = "fp32"
	PrecisionInt8 = "int8"
)

// The settings that a checkpoint may leave open, and that decide about every vector.
const (
	SettingPooling   = "pooling"
	SettingNormalise = "unit length"
	SettingPrefix    = "prefix"
)

// Manifest is the content of expert.yaml.
type Manifest struct {
	Format int    `yaml:"format"`
	Name   string `yaml:"name"`
	Kind   string `yaml:"kind"`
	// Base is the encoder that the expert was fine-tuned from; nil where it is
	// unknown.
	Base *Base `yaml:"base,omitempty"`
	// Delta is the file that says what fine-tuning changed in Base. Tokenizer,
	// Question and Passage are then empty, and Delta.Merge makes the bundle that
	// can be used.
	Delta string `yaml:"delta,omitempty"`
	// Dimension is the length of the vectors; in a late expert, of a token's vector. A
	// reader has none, and neither pooling, normalisation nor similarity.
	Dimension int `yaml:"dimension,omitempty"`
	// Pooling and Normalise describe what the graphs do.
	Pooling   string `yaml:"pooling,omitempty"`
	Normalise bool   `yaml:"normalise"`
	// MaxTokens bounds the input, special tokens included.
	MaxTokens MaxTokens `yaml:"max_tokens"`
	// LongestSpan is the length of a reader's longest answer, in tokens.
	LongestSpan int `yaml:"longest_span,omitempty"`
	// LowerCase says that the tokenizer lower-cases text.
	LowerCase bool   `yaml:"lower_case"`
	Template  string `yaml:"template,omitempty"`
	// Prefix is what comes before the texts, as in the model's training.
	Prefix     Prefix `yaml:"prefix,omitempty"`
	Similarity string `yaml:"similarity,omitempty"`
	Precision  string `yaml:"precision"`
	// Tokenizer is a tokenizer.json or vocab.txt.
	Tokenizer string `yaml:"tokenizer,omitempty"`
	// Question and Passage may name the same file.
	Question Graph `yaml:"question,omitempty"`
	Passage  Graph `yaml:"passage,omitempty"`
	// Generator is nil unless Kind is generator.
	Generator *Generator `yaml:"generator,omitempty"`
	// Reader is a reader's graph, which takes the place of both.
	Reader *ReaderGraph `yaml:"reader,omitempty"`
	// Head is a DESIRE-ME expert's, and nil for others.
	Head *Head `yaml:"head,omitempty"`
	// Ensemble is nil for an expert without one.
	Ensemble *Ensemble `yaml:"ensemble,omitempty"`
	// Representatives is the file of questions that stand for what the expert
	// was trained on, as Base encodes them; empty for an expert without.
	Representatives string  `yaml:"representatives,omitempty"`
	Lineage         Lineage `yaml:"lineage"`
	// Files maps the name of every file of the bundle, except the manifest
	// and the calibration, to its SHA-256 in hexadecimal.
	Files map[string]string `yaml:"files"`
}

// Base names an encoder.
type Base struct {
	// Name is for people.
	Name string `yaml:"name"`
	// WeightsSHA256 decides: the SHA-256 of the base's weights, as Import
	// records it of a checkpoint under Lineage.SourceSHA256.
	WeightsSHA256 string `yaml:"weights_sha256"`
}

// MaxTokens is the longest input of each side, in tokens. A reader reads a pair:
// its limits are those of the question, of the title, and of the whole input.
type MaxTokens struct {
	Question int `yaml:"question"`
	Passage  int `yaml:"passage,omitempty"`
	Title    int `yaml:"title,omitempty"`
	Pair     int `yaml:"pair,omitempty"`
}

// Prefix is what comes before questions and before passages (in front of the title), with the
// space that belongs to it: "query: ". Its tokens count in MaxTokens.
type Prefix struct {
	Question string `yaml:"question,omitempty"`
	Passage  string `yaml:"passage,omitempty"`
}

// mostPrefix bounds a prefix, in bytes.
const mostPrefix = 2000

// Graph is an ONNX encoder and the names of its inputs and output. The inputs
// are int64 [batch, sequence]. A dense expert's output is float32
// [batch, Dimension], pooled and, with Normalise, of unit length.
//
// A late expert's is float32 [batch, sequence, Dimension+1]: for every token,
// the special ones included, first its vector, of unit length, and last its
// importance, a number above 0 that only questions use. The values at padded
// positions have no meaning. Such a graph may also give, pooled from the same last
// layer, the text's vector: that of the dense expert whose layers these are,
// so that one run serves both.
type Graph struct {
	File          string `yaml:"file"`
	InputIDs      string `yaml:"input_ids"`
	AttentionMask string `yaml:"attention_mask"`
	// TokenTypeIDs is empty where the graph takes none.
	TokenTypeIDs string `yaml:"token_type_ids,omitempty"`
	Embedding    string `yaml:"embedding"`
	// Pooled is the output with the text's vector, float32
	// [batch, PooledDimension]; empty where there is none.
	Pooled          string `yaml:"pooled,omitempty"`
	PooledDimension int    `yaml:"pooled_dimension,omitempty"`
	// OneByOne says that the graph must be given one text a call, unpadded:
	// its quantisation has one scale for a whole batch, so that a text's
	// vector would depend on its neighbours. Graphs made by Import never need
	// it.
	OneByOne bool `yaml:"one_by_one,omitempty"`
}

// Ensemble is a graph of Members heads that each map a question's vector to
// another: input EnsembleInput [batch, Dimension], output EnsembleOutput
// [batch, Members, Dimension]. MUF (dpr-muf, section 3) reads the expert's
// uncertainty from how far they disagree.
type Ensemble struct {
	File    string `yaml:"file"`
	Members int    `yaml:"members"`
}

// The names of an ensemble's input and output, float32.
const (
	EnsembleInput  = "vector"
	EnsembleOutput = "members"
)

// Lineage says where the weights came from. It is for people and decides
// about no vector.
type Lineage struct {
	// Source is the checkpoint, folder or base bundle the weights are from.
	Source string `yaml:"source,omitempty"`
	// SourceSHA256 is the SHA-256 of the weights' files as found there, in order.
	SourceSHA256 string `yaml:"source_sha256,omitempty"`
	// Architecture is for instance "bert, 6 layers of 384, 12 heads".
	Architecture string `yaml:"architecture,omitempty"`
	// Licence as far as the checkpoint states it.
	Licence string `yaml:"licence,omitempty"`
	// Producer is the program that wrote the bundle.
	Producer string `yaml:"producer,omitempty"`
	// MergedFrom is the Delta.SHA256 of what the bundle was merged from.
	MergedFrom string `yaml:"merged_from,omitempty"`
	// Notes holds what training wishes to record: settings, seeds, versions.
	Notes map[string]string `yaml:"notes,omitempty"`
}

// ParseManifest reads an expert.yaml. Unknown keys, missing values and
// impossible ones are errors that name the key.
func ParseManifest(data []byte) (Manifest, error) {
	var m Manifest
	if err := verifySealed(data); err != nil {
		return m, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&m); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty")
		}
		return m, err
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return m, errors.New("more than one document in the file")
	}
	return m, m.Validate()
}

var (
	namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$`)
	filePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	hashPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Validate checks every value; the errors name the key as in expert.yaml and
// say what is allowed.
func (m *Manifest) Validate() error {
	var all []error
	fail := func(key, format string, a ...any) { all = append(all, fmt.Errorf(key+": "+format, a...)) }
	oneOf := func(key, value string, allowed ...string) {
		if !slices.Contains(allowed, value) {
			fail(key, "%q is not one of %q", value, allowed)
		}
	}
	between := func(key string, value, low, high int) {
		if value < low || value > high {
			fail(key, "%d is not between %d and %d", value, low, high)
		}
	}
	file := func(key, name string) {
		if m.Files[name] == "" {
			fail(key, "%q is not listed under files", name)
		}
	}
	if m.Format != Format {
		return fmt.Errorf("format: %d; this version of conclave reads format %d", m.Format, Format)
	}
	if !namePattern.MatchString(m.Name) {
		fail("name", "%q is not 1 to 64 of a-z 0-9 . _ - that begin and end with a letter or digit", m.Name)
	}
	if m.Kind == KindDesireMe {
		m.validateHead(fail, file)
		m.validateFiles(fail)
		return errors.Join(all...)
	}
	oneOf("kind", m.Kind, KindDense, KindLate, KindReader, KindGenerator, KindDesireMe)
	oneOf("precision", m.Precision, PrecisionFP32, PrecisionInt8)
	switch m.Kind {
	case KindGenerator:
		m.validateGenerator(fail, file, between)
	case KindReader:
		m.validateReader(fail, file, between)
	default:
		m.validateVectors(fail, file, oneOf, between)
	}
	if m.Representatives != "" {
		file("representatives", m.Representatives)
		if m.Base == nil {
			fail("representatives", "base must say whose vectors they are")
		}
	}
	if m.Ensemble != nil {
		file("ensemble.file", m.Ensemble.File)
		between("ensemble.members", m.Ensemble.Members, 1, 1024)
	}
	if m.Head != nil {
		fail("head", "a %s expert has none", m.Kind)
	}
	if m.Prefix != (Prefix{}) && m.Kind != KindDense {
		fail("prefix", "an expert of kind %s has none", m.Kind)
	}
	m.validateFiles(fail)
	return errors.Join(all...)
}

// validateFiles checks what all kinds have.
func (m *Manifest) validateFiles(fail func(key, format string, a ...any)) {
	if m.Base != nil && !hashPattern.MatchString(m.Base.WeightsSHA256) {
		fail("base.weights_sha256", "%q is not 64 lower-case hexadecimal digits", m.Base.WeightsSHA256)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		switch {
		case !filePattern.MatchString(name):
			fail("files", "%q is not a plain file name", name)
		case name == ManifestFile || name == CalibrationFile:
			fail("files", "%s must not be listed: it is written after the others", name)
		case !hashPattern.MatchString(m.Files[name]):
			fail("files", "the SHA-256 of %s is %q, not 64 lower-case hexadecimal digits", name, m.Files[name])
		}
	}
}

// validateVectors checks the kinds that make vectors.
func (m *Manifest) validateVectors(
	fail func(key, format string, a ...any),
	file func(key, name string),
	oneOf func(key, value string, allowed ...string),
	between func(key string, value, low, high int),
) {
	between("dimension", m.Dimension, 1, 1<<16)
	if m.Kind == KindLate {
		m.validateLate(fail)
	} else {
		oneOf("pooling", m.Pooling, PoolingCLS, PoolingMean, PoolingPooler, PoolingGraph)
	}
	between("max_tokens.question", m.MaxTokens.Question, 3, 1<<16)
	between("max_tokens.passage", m.MaxTokens.Passage, 3, 1<<16)
	oneOf("template", m.Template, TemplateText, TemplateTitleDotText, TemplatePair)
	oneOf("similarity", m.Similarity, SimilarityInnerProduct)
	for key, text := range map[string]string{"prefix.question": m.Prefix.Question, "prefix.passage": m.Prefix.Passage} {
		if len(text) > mostPrefix || !utf8.ValidString(text) {
			fail(key, "%.100q is not a text of at most %d bytes of UTF-8", text, mostPrefix)
		}
	}
	if m.Generator != nil {
		fail("generator", "an expert of kind %q has none", m.Kind)
	}
	if m.Reader != nil || m.LongestSpan != 0 || m.MaxTokens.Title != 0 || m.MaxTokens.Pair != 0 {
		fail("kind", "%q; reader, longest_span, max_tokens.title and max_tokens.pair are a reader's", m.Kind)
	}
	if m.Delta != "" {
		m.validateDelta(fail, file)
	} else {
		m.validateGraphs(fail, file, between)
	}
}

func (m *Manifest) validateGraphs(
	fail func(key, format string, a ...any),
	file func(key, name string),
	between func(key string, value, low, high int),
) {
	file("tokenizer", m.Tokenizer)
	for key, g := range map[string]Graph{"question": m.Question, "passage": m.Passage} {
		file(key+".file", g.File)
		if g.InputIDs == "" || g.AttentionMask == "" || g.Embedding == "" {
			fail(key, "input_ids, attention_mask and embedding must each name an input or output of the graph")
		}
		if g.Pooled != "" {
			between(key+".pooled_dimension", g.PooledDimension, 1, 1<<16)
		}
		switch {
		case g.Pooled != "" && m.Kind != KindLate:
			fail(key+".pooled", "%q; a %s expert's graph gives embedding alone", g.Pooled, m.Kind)
		case g.Pooled != "" && g.Pooled == g.Embedding:
			fail(key+".pooled", "%q is the output of the tokens", g.Pooled)
		case g.Pooled == "" && g.PooledDimension != 0:
			fail(key+".pooled_dimension", "%d, and pooled names no output", g.PooledDimension)
		}
	}
}

func (m *Manifest) validateDelta(fail func(key, format string, a ...any), file func(key, name string)) {
	file("delta", m.Delta)
	if m.Base == nil {
		fail("base", "a delta must say what it changes")
	}
	if m.Precision != PrecisionFP32 {
		fail("precision", "%q; a delta is for %s, and the import chooses", m.Precision, PrecisionFP32)
	}
	if m.Tokenizer != "" || m.Question != (Graph{}) || m.Passage != (Graph{}) || m.Reader != nil {
		fail("delta", "the tokenizer and the graphs are the base's: tokenizer, question, passage and reader must be left out")
	}
}

// Encode returns the manifest as expert.yaml has it, sealed: its last line is a
// checksum of the lines before it. A person who edits the file deletes that
// line.
func (m *Manifest) Encode() ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	return sealed(m)
}
