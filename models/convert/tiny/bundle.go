// Package tiny writes expert bundles that are small enough for tests: a BERT
// of two layers and 32 dimensions with seeded random weights, through the
// writer that imports published checkpoints. Its vectors mean nothing, but
// the same text gets the same vector, and texts that share words get nearer
// ones than others.
package tiny

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/models/convert/bert"
)

// Expert describes a bundle with random weights. The zero value is a plain expert named "tiny".
type Expert struct {
	Name string // default "tiny"
	// Seed decides every weight; bundles of different seeds are different
	// experts.
	Seed      uint64
	Layers    int // default 2
	Dimension int // default 32
	Heads     int // default 4
	// Vocabulary is the word pieces, special tokens first; default
	// Vocabulary().
	Vocabulary []string
	Positions  int    // longest input, default 512
	Activation string // default gelu
	Pooling    string // default mean
	// Late, if not 0, makes a late expert, whose tokens have vectors of this
	// length: a multiple of 4.
	Late int
	// Reader makes a reader, whose selection is left out with NoSelect; Template may be
	// squad. MaxTokens is 16 of a question, 8 of a title, and 64 together by default.
	Reader, NoSelect bool
	// Reranker makes a reranker that reads 64 tokens.
	Reranker bool
	// RawLength leaves the vectors as long as they come out; by default they
	// have unit length.
	RawLength bool
	Template  string // default title-dot-text
	MaxTokens models.MaxTokens
	// TwoTowers gives passages weights of their own.
	TwoTowers bool
	// Projection adds a last linear layer to this length.
	Projection int
	// Relative is the number of buckets of relative positions, 0: none.
	Relative int
	Int8     bool
	// EnsembleMembers, if not 0, adds an ensemble that moves question vectors
	// a little, each member its own way.
	EnsembleMembers int
	// Spread is how far the members move a unit vector, about; default 0.1.
	Spread      float32
	Calibration *models.Calibration
	Languages   []string // that it says it reads (models.Vectors)
}

// Write makes the bundle in dir, which is missing, empty or a bundle that is replaced, and returns it as Load reads
// it. The same options give the same bytes. After an error dir may have a bundle without its calibration.
func Write(dir string, o Expert) (*models.Bundle, error) {
	o = o.withDefaults()
	folder, err := convert.NewFolder(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Abandon()
	c := o.Config()
	m := models.Manifest{
		Name: o.Name, Kind: models.KindDense, LowerCase: true, Precision: models.PrecisionFP32, Tokenizer: "vocab.txt",
		Vectors: &models.Vectors{
			Dimension: c.Output(), Pooling: o.Pooling, Normalise: !o.RawLength, MaxTokens: o.MaxTokens,
			Template: o.Template, Similarity: models.SimilarityInnerProduct, Languages: o.Languages,
			Question: convert.DefaultGraph("encoder.onnx"), Passage: convert.DefaultGraph("encoder.onnx"),
		},
		Lineage: models.Lineage{
			Source:       fmt.Sprintf("random weights, seed %d", o.Seed),
			Producer:     "example.org/conclave/models/convert/tiny",
			Architecture: c.String(),
			Licence:      "Apache-2.0",
		},
	}
	if o.Late > 0 {
		m.Kind = models.KindLate
		m.Vectors.Dimension = o.Late
		m.Vectors.Pooling = models.PoolingTokens
		m.Vectors.Question = convert.LateGraph("encoder.onnx", c.Output())
		m.Vectors.Passage = m.Vectors.Question
	}
	if o.Reader {
		m = o.reader(m)
	}
	if o.Reranker {
		m = o.reranker(m)
	}
	if o.Int8 {
		m.Precision = models.PrecisionInt8
	}
	if err := folder.Create(m.Tokenizer, func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(o.Vocabulary, "\n")+"\n")
		return err
	}); err != nil {
		return nil, err
	}
	sides := map[string]models.Side{"encoder.onnx": models.Question}
	switch {
	case o.Reader:
		sides = map[string]models.Side{m.Reader.Graph.File: models.Question}
	case o.Reranker:
		sides = map[string]models.Side{m.Reranker.Graph.File: models.Question}
	case o.TwoTowers:
		m.Vectors.Question.File, m.Vectors.Passage.File = "question.onnx", "passage.onnx"
		sides = map[string]models.Side{m.Vectors.Question.File: models.Question, m.Vectors.Passage.File: models.Passage}
	}
	for file, side := range sides {
		if err := folder.Create(file, func(w io.Writer) error {
			head := bert.Head{Pooling: o.Pooling, Normalise: !o.RawLength, Late: o.Late, Reader: o.Reader, Selects: !o.NoSelect}
			if o.Reranker {
				head = bert.Head{Rerank: bert.RerankTanh}
			}
			if o.Int8 {
				cls, sep := slices.Index(o.Vocabulary, "[CLS]"), slices.Index(o.Vocabulary, "[SEP]")
				return bert.WriteInt8(w, c, o.Weights(side), head, cls, sep)
			}
			return bert.Write(w, c, o.Weights(side), head)
		}); err != nil {
			return nil, err
		}
	}
	if o.EnsembleMembers > 0 {
		m.Vectors.Ensemble = &models.Ensemble{File: "ensemble.onnx", Members: o.EnsembleMembers}
		if err := folder.Create(m.Vectors.Ensemble.File, o.ensemble().Write); err != nil {
			return nil, err
		}
	}
	b, err := folder.Finish(m)
	if err != nil {
		return nil, err
	}
	if o.Calibration != nil {
		if err := b.WriteCalibration(*o.Calibration); err != nil {
			return nil, err
		}
	}
	return models.Load(dir)
}

// reader returns the manifest of a reader with m's name, precision, tokenizer and lineage.
func (o Expert) reader(m models.Manifest) models.Manifest {
	m = models.Manifest{
		Name:      m.Name,
		Kind:      models.KindReader,
		LowerCase: true,
		Precision: m.Precision,
		Tokenizer: m.Tokenizer,
		Lineage:   m.Lineage,
		Reader: &models.Reader{
			MaxTokens:   models.ReaderTokens{Question: 16, Title: 8, Pair: min(64, o.Positions)},
			LongestSpan: 10,
			Graph:       convert.DefaultReader(!o.NoSelect),
		},
	}
	if o.Template == models.TemplateSQuAD {
		m.Reader.Template = o.Template
		m.Reader.MaxTokens.Title = 0
	}
	return m
}

// reranker returns the manifest of a reranker with m's name, precision, tokenizer and lineage.
func (o Expert) reranker(m models.Manifest) models.Manifest {
	return models.Manifest{
		Name:      m.Name,
		Kind:      models.KindReranker,
		LowerCase: true,
		Precision: m.Precision,
		Tokenizer: m.Tokenizer,
		Lineage:   m.Lineage,
		Reranker: &models.Reranker{
			Tokens: min(64, o.Positions), Template: models.TemplateTitleDotText, Segments: true,
			Graph: convert.DefaultReranker(),
		},
	}
}

// withDefaults returns the options with zero values replaced by the defaults.
func (o Expert) withDefaults() Expert {
	o.Name = cmp.Or(o.Name, "tiny")
	o.Layers = cmp.Or(o.Layers, 2)
	o.Dimension = cmp.Or(o.Dimension, 32)
	o.Heads = cmp.Or(o.Heads, 4)
	o.Positions = cmp.Or(o.Positions, 512)
	o.MaxTokens.Question = cmp.Or(o.MaxTokens.Question, min(64, o.Positions))
	o.MaxTokens.Passage = cmp.Or(o.MaxTokens.Passage, min(256, o.Positions))
	o.Pooling = cmp.Or(o.Pooling, models.PoolingMean)
	o.Template = cmp.Or(o.Template, models.TemplateTitleDotText)
	o.Activation = cmp.Or(o.Activation, "gelu")
	o.Spread = cmp.Or(o.Spread, 0.1)
	if o.Vocabulary == nil {
		o.Vocabulary = Vocabulary()
	}
	return o
}

// Config returns the shape of the encoder that the options, with their defaults, choose.
func (o Expert) Config() bert.Config {
	o = o.withDefaults()
	return bert.Config{
		Vocabulary: len(o.Vocabulary), Dimension: o.Dimension, Layers: o.Layers, Heads: o.Heads,
		Intermediate: 4 * o.Dimension, Positions: o.Positions, TokenTypes: 2,
		Activation: o.Activation, LayerNormEps: 1e-12, Projection: o.Projection,
		Relative: o.Relative,
	}
}
