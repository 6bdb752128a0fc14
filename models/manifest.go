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
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
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
	KindSparse = "sparse" // a weight for each word piece; see sparse.go
	KindReader = "reader" // it marks answers in passages; see reader.go
	// KindReranker scores passages for a question; see reranker.go.
	KindReranker = "reranker"
	// KindDesireMe is a head on another expert's question vectors; see desireme.go.
	KindDesireMe = "desire-me"

	KindGenerator = "generator" // it writes answers; see generator.go

	PoolingCLS    = "cls"    // the first token's vector
	PoolingMean   = "mean"   // the mean over the text's tokens
	PoolingPooler = "pooler" // BERT's pooler: tanh(W·cls + b)
	PoolingGraph  = "graph"  // an exported graph's own, whatever it is
	PoolingTokens = "tokens" // none: a late expert's
	PoolingMax    = "max"    // the largest of the tokens': a sparse expert's

	TemplateText         = "text"           // a passage is its text alone
	TemplateTitleDotText = "title-dot-text" // title + ". " + text; the text alone where there is no title
	TemplatePair         = "pair"           // [CLS] title [SEP] text [SEP], token types all zero, as DPR
	TemplateSQuAD        = "squad"          // a reader's; see reader.go

	SimilarityInnerProduct = "inner-product"

	PrecisionFP32 = "fp32"
	PrecisionInt8 = "int8"
)

// kinds are the values of Manifest.Kind.
var kinds = []string{KindDense, KindLate, KindSparse, KindReader, KindReranker, KindGenerator, KindDesireMe}

// The settings that a checkpoint may leave open, and that decide about every vector.
const (
	SettingPooling   = "pooling"
	SettingNormalise = "unit length"
	SettingPrefix    = "prefix"
)

// Manifest is the content of expert.yaml: what all kinds have, and the section of its kind.
// In the file the keys of the sections stand beside the others (see document).
type Manifest struct {
	Format int
	Name   string
	Kind   string
	// Base is the encoder that the expert was fine-tuned from; nil where it is
	// unknown.
	Base *Base
	// Delta is the file that says what fine-tuning changed in Base. Tokenizer and the graphs
	// are then left out, and convert.Delta makes the bundle that can be used.
	Delta string
	// LowerCase says that the tokenizer lower-cases text.
	LowerCase bool
	Precision string
	// Tokenizer is a tokenizer.json or vocab.txt.
	Tokenizer string
	// One of these is set, as Kind says.
	Vectors   *Vectors // of the kinds dense and late
	Reader    *Reader
	Reranker  *Reranker
	Generator *Generator
	Head      *Head // of the kind desire-me
	Lineage   Lineage
	// Files maps the name of every file of the bundle, except the manifest
	// and the calibration, to its SHA-256 in hexadecimal.
	Files map[string]string
}

// Clone returns a copy whose own fields, sections and Files can be changed without changing m's. Base,
// Lineage.Notes and what sections point to are shared.
func (m *Manifest) Clone() Manifest {
	c := *m
	c.Vectors = cloned(m.Vectors)
	c.Reader = cloned(m.Reader)
	c.Reranker = cloned(m.Reranker)
	c.Generator = cloned(m.Generator)
	c.Head = cloned(m.Head)
	c.Files = maps.Clone(m.Files)
	return c
}

// cloned returns a copy of a section; nil for nil.
func cloned[T any](section *T) *T {
	if section == nil {
		return nil
	}
	c := *section
	return &c
}

// Dimension returns how many numbers a vector has; of a late expert a token's vector, of a sparse one each pair of
// word piece and weight (PairNumbers). It is 0 for a kind without vectors.
func (m *Manifest) Dimension() int {
	switch {
	case m.Kind == KindSparse:
		return PairNumbers
	case m.Vectors != nil:
		return m.Vectors.Dimension
	case m.Head != nil:
		return m.Head.Dimension
	}
	return 0
}

// UnitLength reports whether the vectors of questions have unit length. It is false for a kind without vectors.
func (m *Manifest) UnitLength() bool {
	return m.Vectors != nil && m.Vectors.Normalise || m.Head != nil && m.Head.Normalise
}

// Base names an encoder.
type Base struct {
	// Name is for people.
	Name string `yaml:"name"`
	// WeightsSHA256 decides: the SHA-256 of the base's weights, as Import
	// records it of a checkpoint under Lineage.SourceSHA256.
	WeightsSHA256 string `yaml:"weights_sha256"`
}

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

var (
	namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$`)
	filePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	hashPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// validation collects what is wrong with a manifest; the errors name the key as in expert.yaml
// and say what is allowed.
type validation struct {
	m   *Manifest
	all []error
}

// fail notes an error about a key. format and a make the text after the key and its colon.
func (v *validation) fail(key, format string, a ...any) {
	v.all = append(v.all, fmt.Errorf(key+": "+format, a...))
}

// oneOf notes an error unless value is one of the allowed ones.
func (v *validation) oneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		v.fail(key, "%q is not one of %q", value, allowed)
	}
}

// between notes an error unless value is from low to high, both included.
func (v *validation) between(key string, value, low, high int) {
	if value < low || value > high {
		v.fail(key, "%d is not between %d and %d", value, low, high)
	}
}

// file notes an error unless name is one of the files that the manifest lists.
func (v *validation) file(key, name string) {
	if v.m.Files[name] == "" {
		v.fail(key, "%q is not listed under files", name)
	}
}

// Validate returns an error for each impossible value, joined, which names the key as in expert.yaml and says what
// is allowed; nil if there is none. With another Format than this package's nothing else is checked. Files are not
// looked at.
func (m *Manifest) Validate() error {
	if m.Format != Format {
		return fmt.Errorf("format: %d; this version of conclave reads format %d", m.Format, Format)
	}
	v := &validation{m: m}
	if !namePattern.MatchString(m.Name) {
		v.fail("name", "%q is not 1 to 64 of a-z 0-9 . _ - that begin and end with a letter or digit", m.Name)
	}
	v.oneOf("kind", m.Kind, kinds...)
	v.oneOf("precision", m.Precision, PrecisionFP32, PrecisionInt8)
	v.sections()
	v.files()
	return errors.Join(v.all...)
}

// sections checks the section of the manifest's kind, and notes an error if it is missing or another one is set.
func (v *validation) sections() {
	m := v.m
	vectors := m.Kind == KindDense || m.Kind == KindLate || m.Kind == KindSparse
	for _, section := range []struct {
		name        string
		wanted, set bool
		check       func()
	}{
		{"vectors", vectors, m.Vectors != nil, v.vectors},
		{"reader", m.Kind == KindReader, m.Reader != nil, v.reader},
		{"reranker", m.Kind == KindReranker, m.Reranker != nil, v.reranker},
		{"generator", m.Kind == KindGenerator, m.Generator != nil, v.generator},
		{"head", m.Kind == KindDesireMe, m.Head != nil, v.head},
	} {
		switch {
		case section.wanted && section.set:
			section.check()
		case section.wanted:
			v.fail(section.name, "%s needs it", m.KindInWords())
		case section.set:
			v.fail(section.name, "%s has none", m.KindInWords())
		}
	}
}

// KindInWords returns the kind with its article, for a message: "a late expert", "a reader".
func (m *Manifest) KindInWords() string {
	switch m.Kind {
	case KindReader, KindReranker, KindGenerator:
		return "a " + m.Kind
	}
	return "a " + m.Kind + " expert"
}

// delta notes what is wrong in the fields that all deltas have in common. graphs reports whether the section names
// graphs, which a delta's must not.
func (v *validation) delta(graphs bool) {
	m := v.m
	v.file("delta", m.Delta)
	if m.Base == nil {
		v.fail("base", "a delta must say what it changes")
	}
	if m.Precision != PrecisionFP32 {
		v.fail("precision", "%q; a delta is for %s, and the import chooses", m.Precision, PrecisionFP32)
	}
	if m.Tokenizer != "" || graphs {
		v.fail(
			"delta",
			"the tokenizer and the graphs are the base's: tokenizer, question, passage and reader must be left out",
		)
	}
}

// files notes an error for a SHA-256 of the base, or a name or SHA-256 of a file, that has not the form of one.
func (v *validation) files() {
	m := v.m
	if m.Base != nil && !hashPattern.MatchString(m.Base.WeightsSHA256) {
		v.fail("base.weights_sha256", "%q is not 64 lower-case hexadecimal digits", m.Base.WeightsSHA256)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		switch {
		case !filePattern.MatchString(name):
			v.fail("files", "%q is not a plain file name", name)
		case name == ManifestFile || name == CalibrationFile:
			v.fail("files", "%s must not be listed: it is written after the others", name)
		case !hashPattern.MatchString(m.Files[name]):
			v.fail("files", "the SHA-256 of %s is %q, not 64 lower-case hexadecimal digits", name, m.Files[name])
		}
	}
}

// Encode returns the content of expert.yaml, with a last line that holds the checksum of the lines before it; a
// person who edits the file deletes that line. It fails for an invalid manifest.
func (m *Manifest) Encode() ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	return sealed(m.document())
}
