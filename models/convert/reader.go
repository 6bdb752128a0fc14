package convert

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"example.org/conclave/models"
	"example.org/conclave/models/convert/bert"
)

// The limits of an imported reader: DPR's, and those of SQuAD's script; and the
// longest answer. (At 10 tokens, three of five of a scientific collection's
// answers are lost.)
var (
	readerTokens = models.ReaderTokens{Question: 64, Title: 32, Pair: 256}
	squadTokens  = models.ReaderTokens{Question: 64, Pair: 384}
)

const (
	readerSpan = 30
	readerFile = "reader.onnx"
)

// DefaultReader returns the description of the graph that Import writes for a reader; selects reports whether it
// has a selection, the logit that the passage answers.
func DefaultReader(selects bool) *models.ReaderGraph {
	g := &models.ReaderGraph{
		File:          readerFile,
		InputIDs:      "input_ids",
		AttentionMask: "attention_mask",
		TokenTypeIDs:  "token_type_ids",
		Start:         bert.Start,
		End:           bert.End,
	}
	if selects {
		g.Select = bert.Select
	}
	return g
}

// isReader reports whether the checkpoint has a head that marks answers. It is false for tokenizers other than
// WordPiece, whose words cannot be located.
func (t *tower) isReader() bool {
	if t.tokenizer.kind != wordPiece { // whose words can be located
		return false
	}
	_, ok := t.set.Info(t.name(bert.ReaderSpan))
	return ok
}

// hasSelection reports whether the checkpoint has the layer that tells whether a passage answers.
func (t *tower) hasSelection() bool {
	_, ok := t.set.Info(t.name(bert.ReaderSelect))
	return ok
}

// importReader makes the bundle outDir of a published reader: transformers' DPRReader or BertForQuestionAnswering.
// o.MaxTokens.Passage is the limit of question and passage together. It fails, and changes nothing at outDir, for
// options that concern vectors, too long limits, and tensors that are not a reader's.
func (t *tower) importReader(srcDir, outDir string, o Options) (*models.Bundle, error) {
	if err := o.notVectors("a reader"); err != nil {
		return nil, err
	}
	if o.Template != "" {
		return nil, errors.New("this is a reader, which makes no vectors: the template cannot be chosen")
	}
	selects := t.hasSelection()
	m := models.Manifest{
		Format: models.Format, Name: cmp.Or(o.Name, nameOf(outDir)), Kind: models.KindReader,
		LowerCase: t.tokenizer.lowerCase, Precision: models.PrecisionFP32, Tokenizer: t.tokenizer.name,
		Reader: &models.Reader{MaxTokens: readerTokens, LongestSpan: readerSpan, Graph: DefaultReader(selects)},
		Lineage: models.Lineage{
			Source:       cmp.Or(o.Source, filepath.Base(filepath.Clean(srcDir))),
			Licence:      cmp.Or(o.Licence, t.licence),
			Producer:     Producer,
			Architecture: t.describeArchitecture(),
		},
	}
	if !t.isDPR() {
		m.Reader.Template = models.TemplateSQuAD
		m.Reader.MaxTokens = squadTokens
	}
	m.Reader.MaxTokens.Question = cmp.Or(o.MaxTokens.Question, m.Reader.MaxTokens.Question)
	m.Reader.MaxTokens.Pair = min(m.Reader.MaxTokens.Pair, t.config.Positions)
	if asked := o.MaxTokens.Passage; asked > t.config.Positions {
		return nil, fmt.Errorf("passage of %d tokens asked for; the model has %d positions", asked, t.config.Positions)
	} else if asked > 0 {
		m.Reader.MaxTokens.Pair = asked
	}
	if o.Int8 {
		m.Precision = models.PrecisionInt8
	}
	var err error
	m.Lineage.SourceSHA256, err = hashWeights([]*tower{t})
	if err != nil {
		return nil, err
	}
	head := bert.Head{Reader: true, Selects: selects}
	if err := t.checkCheckpoint(head); err != nil {
		return nil, err
	}
	return writeBundle(
		outDir, m, nil, o.Check,
		append(t.tokenizer.file(), graphFiles([]encoderGraph{{file: m.Reader.Graph.File, tower: t}}, head, o.Int8)...),
	)
}
