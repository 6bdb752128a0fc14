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

// Reader is the section of the kind reader.
type Reader struct {
	MaxTokens   ReaderTokens
	LongestSpan int          // of an answer, in tokens
	Template    string       // TemplateSQuAD, or "" for DPR's
	Graph       *ReaderGraph // nil in a delta
}

// ReaderTokens is the longest input, in tokens: of the question, of the title, and of all of it.
type ReaderTokens struct{ Question, Title, Pair int }

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

// TextAt returns the most tokens of a reader's input that are not the passage's text: the question, the title and
// the three special tokens.
func (r *Reader) TextAt() int {
	specials := 3 // [CLS] and two [SEP]: before the text, or one behind it
	return specials + r.MaxTokens.Question + r.MaxTokens.Title
}

// reader notes what is wrong with a reader's section. That of a delta must have no graph; others must have one.
func (v *validation) reader() {
	m := v.m
	r := m.Reader
	v.between("max_tokens.question", r.MaxTokens.Question, 3, 1<<16)
	v.between("max_tokens.title", r.MaxTokens.Title, 0, 1<<16)
	v.between("max_tokens.pair", r.MaxTokens.Pair, r.TextAt()+readerRoom, 1<<16)
	v.between("longest_span", r.LongestSpan, 1, 1<<10)
	if r.Template != "" && r.Template != TemplateSQuAD {
		v.fail("template", "%q; a reader has %q or none", r.Template, TemplateSQuAD)
	}
	if m.Delta != "" {
		v.delta(r.Graph != nil)
		return
	}
	v.file("tokenizer", m.Tokenizer)
	g := r.Graph
	if g == nil {
		v.fail("reader", "it must name the graph")
		return
	}
	v.file("reader.file", g.File)
	if g.InputIDs == "" || g.AttentionMask == "" || g.Start == "" || g.End == "" {
		v.fail("reader", "input_ids, attention_mask, start and end must each name an input or output of the graph")
	}
	if r.Template == TemplateSQuAD && g.TokenTypeIDs == "" {
		v.fail("reader.token_type_ids", "a reader with the template %q needs them", r.Template)
	}
}

// readerFingerprint returns the SHA-256, in hexadecimal, of everything that decides which answers a reader marks.
// It is the same for both sides.
func (b *Bundle) readerFingerprint() string {
	m := &b.Manifest
	g := m.Reader.Graph
	hash := sha256.New()
	_, _ = fmt.Fprintf(
		hash,
		"conclave reader 1\nmax_tokens %d %d %d\nlongest_span %d\nlower_case %t\ntemplate %q\nprecision %q\ntokenizer %s\ngraph %s\nnames %q %q %q %q %q %q\n",
		m.Reader.MaxTokens.Question, m.Reader.MaxTokens.Title, m.Reader.MaxTokens.Pair, m.Reader.LongestSpan,
		m.LowerCase, m.Reader.Template, m.Precision, m.Files[m.Tokenizer], m.Files[g.File], g.InputIDs, g.AttentionMask,
		g.TokenTypeIDs, g.Start, g.End, g.Select,
	)
	return hex.EncodeToString(hash.Sum(nil))
}
