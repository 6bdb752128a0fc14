package models

import (
	"cmp"
	"fmt"
	"path/filepath"

	"example.org/conclave/models/convert/bert"
)

// A reader marks the words of a passage that answer a question (Karpukhin et
// al. 2020, "DPR", section 6.1). It reads both as one text, in one of two
// forms:
//
//   - without a template, as DPR's: [CLS] question [SEP] title [SEP] text, token
//     types all zero. Both [SEP] are there without a title too.
//   - with TemplateSQuAD, as BertForQuestionAnswering: [CLS] question [SEP]
//     text [SEP], token types 1 behind the first [SEP]. The title is left out.
//
// A text that is too long is cut, or read in parts.

// ReaderGraph is a reader's graph and the names of its inputs and outputs. The
// inputs are int64 [batch, sequence]. Start and End are float32 [batch,
// sequence], the logits that an answer starts and ends at a token, special
// tokens included; what stands at padded positions means nothing. Select is
// float32 [batch], the logit that the passage answers; "" in a reader that was
// trained without, which says of a passage what it says of its best words.
type ReaderGraph struct {
	File          string `yaml:"file"`
	InputIDs      string `yaml:"input_ids"`
	AttentionMask string `yaml:"attention_mask"`
	// TokenTypeIDs is empty where the graph takes none.
	TokenTypeIDs string `yaml:"token_type_ids,omitempty"`
	Start        string `yaml:"start"`
	End          string `yaml:"end"`
	Select       string `yaml:"select,omitempty"`
}

// The limits of an imported reader: DPR's, and those of SQuAD's script; and the
// longest answer. (At 10 tokens, three of five of a scientific collection's
// answers are lost.)
var (
	readerTokens = MaxTokens{Question: 64, Title: 32, Pair: 256}
	squadTokens  = MaxTokens{Question: 64, Pair: 384}
)

const (
	readerSpan = 30
	readerFile = "reader.onnx"
	// readerRoom is how many tokens of a text there must be room for.
	readerRoom = 8
)

// DefaultReader returns the graph that Import writes; selects says that it has a selection.
func DefaultReader(selects bool) *ReaderGraph {
	g := &ReaderGraph{
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

// TextAt returns the longest part of an input that lies before the text.
func (m *Manifest) TextAt() int {
	specials := 3 // [CLS] and two [SEP]: before the text, or one behind it
	return specials + m.MaxTokens.Question + m.MaxTokens.Title
}

func (m *Manifest) validateReader(
	fail func(key, format string, a ...any),
	file func(key, name string),
	between func(key string, value, low, high int),
) {
	between("max_tokens.question", m.MaxTokens.Question, 3, 1<<16)
	between("max_tokens.title", m.MaxTokens.Title, 0, 1<<16)
	between("max_tokens.pair", m.MaxTokens.Pair, m.TextAt()+readerRoom, 1<<16)
	between("longest_span", m.LongestSpan, 1, 1<<10)
	if m.Template != "" && m.Template != TemplateSQuAD {
		fail("template", "%q; a reader has %q or none", m.Template, TemplateSQuAD)
	}
	if m.Dimension != 0 || m.Pooling != "" || m.Normalise || m.Similarity != "" || m.MaxTokens.Passage != 0 ||
		m.Ensemble != nil || m.Representatives != "" || m.Question != (Graph{}) || m.Passage != (Graph{}) {
		fail(
			"kind",
			"%q; a reader makes no vectors: dimension, pooling, normalise, similarity, max_tokens.passage, ensemble, representatives, question and passage must be left out",
			m.Kind,
		)
	}
	if m.Delta != "" {
		m.validateDelta(fail, file)
		return
	}
	file("tokenizer", m.Tokenizer)
	if m.Reader == nil {
		fail("reader", "it must name the graph")
		return
	}
	file("reader.file", m.Reader.File)
	if g := m.Reader; g.InputIDs == "" || g.AttentionMask == "" || g.Start == "" || g.End == "" {
		fail("reader", "input_ids, attention_mask, start and end must each name an input or output of the graph")
	}
	if m.Template == TemplateSQuAD && m.Reader.TokenTypeIDs == "" {
		fail("reader.token_type_ids", "a reader with the template %q needs them", m.Template)
	}
}

// isReader says whether the checkpoint has a head that marks answers, and selects
// whether it has one that tells whether a passage answers.
func (t *tower) isReader() bool {
	_, ok := t.set.Info(t.name(bert.ReaderSpan))
	return ok
}

func (t *tower) selects() bool {
	_, ok := t.set.Info(t.name(bert.ReaderSelect))
	return ok
}

// importReader makes a bundle of a published reader: transformers' DPRReader or
// BertForQuestionAnswering.
func (t *tower) importReader(srcDir, outDir string, o ImportOptions) (*Bundle, error) {
	for option, given := range map[string]bool{
		"pooling": o.Pooling != "", "unit length": o.Normalise != nil, "template": o.Template != "", "output": o.Output != "", "prefix": o.QuestionPrefix != nil || o.PassagePrefix != nil, "passage encoder": o.PassageDir != "",
	} {
		if given {
			return nil, fmt.Errorf("this is a reader, which makes no vectors: the %s cannot be chosen", option)
		}
	}
	selects := t.selects()
	m := Manifest{
		Format: Format, Name: cmp.Or(o.Name, nameOf(outDir)), Kind: KindReader, MaxTokens: readerTokens,
		LongestSpan: readerSpan,
		LowerCase:   t.tokenizer.lowerCase, Precision: PrecisionFP32, Tokenizer: t.tokenizer.name,
		Reader: DefaultReader(selects),
		Lineage: Lineage{
			Source:       cmp.Or(o.Source, filepath.Base(filepath.Clean(srcDir))),
			Licence:      cmp.Or(o.Licence, t.licence),
			Producer:     Producer,
			Architecture: t.config.String(),
		},
	}
	if !t.isDPR() {
		m.Template, m.MaxTokens = TemplateSQuAD, squadTokens
	}
	m.MaxTokens.Question = cmp.Or(o.MaxTokens.Question, m.MaxTokens.Question)
	m.MaxTokens.Pair = min(m.MaxTokens.Pair, t.config.Positions)
	if asked := o.MaxTokens.Passage; asked > t.config.Positions {
		return nil, fmt.Errorf("passage of %d tokens asked for; the model has %d positions", asked, t.config.Positions)
	} else if asked > 0 {
		m.MaxTokens.Pair = asked
	}
	if o.Int8 {
		m.Precision = PrecisionInt8
	}
	var err error
	m.Lineage.SourceSHA256, err = hashWeights([]*tower{t})
	if err != nil {
		return nil, err
	}
	head := bert.Head{Reader: true, Selects: selects}
	if err := t.check(head); err != nil {
		return nil, err
	}
	return writeBundle(
		outDir,
		m,
		nil,
		o.Check,
		append(t.tokenizer.file(), graphFiles([]encoderGraph{{file: m.Reader.File, tower: t}}, head, o.Int8)...),
	)
}
