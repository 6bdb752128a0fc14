package models

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

// readerRoom is how many tokens of a text there must be room for.
const readerRoom = 8

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

// readerFingerprint hashes everything that decides which answers a reader marks. It is
// the same for both sides.
func (b *Bundle) readerFingerprint() string {
	m := &b.Manifest
	g := b.Manifest.Reader
	hash := sha256.New()
	_, _ = fmt.Fprintf(
		hash,
		"conclave reader 1\nmax_tokens %d %d %d\nlongest_span %d\nlower_case %t\ntemplate %q\nprecision %q\ntokenizer %s\ngraph %s\nnames %q %q %q %q %q %q\n",
		m.MaxTokens.Question,
		m.MaxTokens.Title,
		m.MaxTokens.Pair,
		m.LongestSpan,
		m.LowerCase,
		m.Template,
		m.Precision,
		m.Files[m.Tokenizer],
		m.Files[g.File],
		g.InputIDs,
		g.AttentionMask,
		g.TokenTypeIDs,
		g.Start,
		g.End,
		g.Select,
	)
	return hex.EncodeToString(hash.Sum(nil))
}
