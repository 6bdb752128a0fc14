package models

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is expert.yaml: the keys of all kinds beside each other, in the order in which they
// are written.
type document struct {
	Format          int               `yaml:"format"`
	Name            string            `yaml:"name"`
	Kind            string            `yaml:"kind"`
	Base            *Base             `yaml:"base,omitempty"`
	Delta           string            `yaml:"delta,omitempty"`
	Dimension       int               `yaml:"dimension,omitempty"`
	Pooling         string            `yaml:"pooling,omitempty"`
	Normalise       bool              `yaml:"normalise"`
	MaxTokens       documentTokens    `yaml:"max_tokens"`
	LongestSpan     int               `yaml:"longest_span,omitempty"`
	LowerCase       bool              `yaml:"lower_case"`
	Template        string            `yaml:"template,omitempty"`
	Prefix          Prefix            `yaml:"prefix,omitempty"`
	Similarity      string            `yaml:"similarity,omitempty"`
	Languages       []string          `yaml:"languages,omitempty"`
	Precision       string            `yaml:"precision"`
	Tokenizer       string            `yaml:"tokenizer,omitempty"`
	Question        Graph             `yaml:"question,omitempty"`
	Passage         Graph             `yaml:"passage,omitempty"`
	Generator       *Generator        `yaml:"generator,omitempty"`
	Reader          *ReaderGraph      `yaml:"reader,omitempty"`
	Reranker        *RerankerGraph    `yaml:"reranker,omitempty"`
	Segments        bool              `yaml:"segments,omitempty"`
	Head            *Head             `yaml:"head,omitempty"`
	Ensemble        *Ensemble         `yaml:"ensemble,omitempty"`
	Representatives string            `yaml:"representatives,omitempty"`
	QuestionWeights string            `yaml:"question_weights,omitempty"`
	Lineage         Lineage           `yaml:"lineage"`
	Files           map[string]string `yaml:"files"`
}

// documentTokens holds the limits of inputs, in tokens: a reader's and a reranker's are of a pair.
type documentTokens struct {
	Question int `yaml:"question"`
	Passage  int `yaml:"passage,omitempty"`
	Title    int `yaml:"title,omitempty"`
	Pair     int `yaml:"pair,omitempty"`
}

// document returns the manifest as its file has it, with the keys of all sections beside each other. What its
// sections point to is shared.
func (m *Manifest) document() document {
	d := document{
		Format: m.Format, Name: m.Name, Kind: m.Kind, Base: m.Base, Delta: m.Delta, LowerCase: m.LowerCase,
		Precision: m.Precision, Tokenizer: m.Tokenizer, Lineage: m.Lineage, Files: m.Files,
	}
	if v := m.Vectors; v != nil {
		d.Dimension = v.Dimension
		d.Pooling = v.Pooling
		d.Normalise = v.Normalise
		d.MaxTokens = documentTokens{Question: v.MaxTokens.Question, Passage: v.MaxTokens.Passage}
		d.Template = v.Template
		d.Prefix = v.Prefix
		d.Similarity = v.Similarity
		d.Languages = v.Languages
		d.Question = v.Question
		d.Passage = v.Passage
		d.Ensemble = v.Ensemble
		d.Representatives = v.Representatives
		d.QuestionWeights = v.QuestionWeights
	}
	if r := m.Reader; r != nil {
		d.MaxTokens = documentTokens{Question: r.MaxTokens.Question, Title: r.MaxTokens.Title, Pair: r.MaxTokens.Pair}
		d.LongestSpan = r.LongestSpan
		d.Template = r.Template
		d.Reader = r.Graph
	}
	if r := m.Reranker; r != nil {
		d.MaxTokens = documentTokens{Pair: r.Tokens}
		d.Template = r.Template
		d.Segments = r.Segments
		d.Reranker = r.Graph
	}
	if h := m.Head; h != nil {
		d.Dimension = h.Dimension
		d.Normalise = h.Normalise
		d.Head = h
	}
	d.Generator = m.Generator
	return d
}

// manifest returns the manifest in the document, with the section of its kind alone. Keys that the kind does not
// have are left out, and an unknown kind has no section. What sections point to is shared.
func (d *document) manifest() Manifest {
	m := Manifest{
		Format: d.Format, Name: d.Name, Kind: d.Kind, Base: d.Base, Delta: d.Delta, LowerCase: d.LowerCase,
		Precision: d.Precision, Tokenizer: d.Tokenizer, Lineage: d.Lineage, Files: d.Files,
	}
	switch d.Kind {
	case KindDense, KindLate, KindSparse:
		m.Vectors = &Vectors{
			Dimension: d.Dimension, Pooling: d.Pooling, Normalise: d.Normalise,
			MaxTokens: MaxTokens{Question: d.MaxTokens.Question, Passage: d.MaxTokens.Passage},
			Template:  d.Template, Prefix: d.Prefix, Similarity: d.Similarity, Languages: d.Languages,
			Question: d.Question, Passage: d.Passage,
			Ensemble: d.Ensemble, Representatives: d.Representatives, QuestionWeights: d.QuestionWeights,
		}
	case KindReader:
		m.Reader = &Reader{
			MaxTokens:   ReaderTokens{Question: d.MaxTokens.Question, Title: d.MaxTokens.Title, Pair: d.MaxTokens.Pair},
			LongestSpan: d.LongestSpan, Template: d.Template, Graph: d.Reader,
		}
	case KindReranker:
		m.Reranker = &Reranker{
			Tokens: d.MaxTokens.Pair, Template: d.Template, Segments: d.Segments, Graph: d.Reranker,
		}
	case KindGenerator:
		m.Generator = d.Generator
	case KindDesireMe:
		m.Head = &Head{Dimension: d.Dimension, Normalise: d.Normalise}
		if d.Head != nil {
			m.Head.File = d.Head.File
			m.Head.Domains = d.Head.Domains
		}
	}
	return m
}

// ParseManifest returns the manifest in an expert.yaml. It fails for a wrong checksum on the last line, an empty
// file, more than one document and unknown keys. For keys of another kind and for missing or impossible values the
// error names each of them, and the manifest is returned as well.
func ParseManifest(data []byte) (Manifest, error) {
	if err := verifySealed(data); err != nil {
		return Manifest{}, err
	}
	var d document
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&d); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty")
		}
		return Manifest{}, err
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return Manifest{}, errors.New("more than one document in the file")
	}
	m := d.manifest()
	if err := m.Validate(); err != nil {
		return m, errors.Join(err, d.ofOtherKinds(&m))
	}
	return m, d.ofOtherKinds(&m)
}

// ofOtherKinds returns errors that name each key that is set in the document and that its kind does not have; nil
// if there is none, or the kind is unknown. m is the document's manifest.
func (d *document) ofOtherKinds(m *Manifest) error {
	if !slices.Contains(kinds, m.Kind) {
		return nil // which keys it has is not known
	}
	var all []error
	var compare func(under string, given, written reflect.Value)
	compare = func(under string, given, written reflect.Value) {
		for i := range given.NumField() {
			field := given.Type().Field(i)
			key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			switch {
			case field.Type == reflect.TypeFor[documentTokens]():
				compare(key+".", given.Field(i), written.Field(i))
			case written.Field(i).IsZero() && !given.Field(i).IsZero():
				all = append(all, fmt.Errorf("%s%s: %s has none", under, key, m.KindInWords()))
			}
		}
	}
	again := m.document()
	compare("", reflect.ValueOf(*d), reflect.ValueOf(again))
	return errors.Join(all...)
}
