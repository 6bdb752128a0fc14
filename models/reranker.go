package models

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Reranker is the section of the kind reranker: a cross-encoder, which reads a question and a
// passage as one text and says in one number how well the passage answers (Nogueira and Cho
// 2019, "Passage Re-ranking with BERT"). The text is
//
//	[CLS] question [SEP] passage [SEP]
//
// with the special tokens of its own tokenizer. Of a text that is too long the longer one of the
// two is cut, as the tokenizers of transformers do.
type Reranker struct {
	Tokens   int    // longest input, in tokens
	Template string // of the passage: TemplateText or TemplateTitleDotText
	// Segments says that token types are 1 behind the first [SEP]; otherwise they are 0.
	Segments bool
	Graph    *RerankerGraph
}

// RerankerGraph is a reranker's graph and the names of its inputs, int64 [batch, sequence], and
// of its output, float32 [batch]: a logit, which is larger the better the passage answers.
type RerankerGraph struct {
	File          string `yaml:"file"`
	InputIDs      string `yaml:"input_ids"`
	AttentionMask string `yaml:"attention_mask"`
	// TokenTypeIDs is empty where the graph takes none.
	TokenTypeIDs string `yaml:"token_type_ids,omitempty"`
	Score        string `yaml:"score"`
}

// leastReranked is how many tokens a reranker has to read at the least.
const leastReranked = 16

// reranker notes what is wrong with a reranker's section: it must have its graph, and cannot be a delta.
func (v *validation) reranker() {
	m := v.m
	r := m.Reranker
	v.between("max_tokens.pair", r.Tokens, leastReranked, 1<<16)
	v.oneOf("template", r.Template, TemplateText, TemplateTitleDotText)
	if m.Delta != "" {
		v.fail("delta", "a reranker is no delta: it has to have its graph")
	}
	v.file("tokenizer", m.Tokenizer)
	g := r.Graph
	if g == nil {
		v.fail("reranker", "it must name the graph")
		return
	}
	v.file("reranker.file", g.File)
	if g.InputIDs == "" || g.AttentionMask == "" || g.Score == "" {
		v.fail("reranker", "input_ids, attention_mask and score must each name an input or output of the graph")
	}
	if r.Segments && g.TokenTypeIDs == "" {
		v.fail("reranker.token_type_ids", "a reranker with segments needs them")
	}
}

// rerankerFingerprint returns the SHA-256, in hexadecimal, of everything that decides which scores a reranker
// gives. It is the same for both sides.
func (b *Bundle) rerankerFingerprint() string {
	m := &b.Manifest
	r := m.Reranker
	hash := sha256.New()
	_, _ = fmt.Fprintf(
		hash,
		"conclave reranker 1\nmax_tokens %d\nlower_case %t\ntemplate %q\nsegments %t\nprecision %q\ntokenizer %s\ngraph %s\nnames %q %q %q %q\n",
		r.Tokens, m.LowerCase, r.Template, r.Segments, m.Precision, m.Files[m.Tokenizer], m.Files[r.Graph.File],
		r.Graph.InputIDs, r.Graph.AttentionMask, r.Graph.TokenTypeIDs, r.Graph.Score,
	)
	return hex.EncodeToString(hash.Sum(nil))
}
