package models

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Side is one of an expert's two encoders.
type Side int

// The sides.
const (
	Question Side = iota
	Passage
)

// Fingerprint returns a hexadecimal SHA-256 over everything that decides which
// vector a text gets on one side: weights and graph, tokenizer and its case,
// pooling, length limit, prefix, and for passages the template. The expert's name,
// lineage, ensemble and calibration are not in it. A vector may be compared
// with those of another index only where the passage fingerprints agree.
//
// A delta bundle encodes nothing before it is merged: its fingerprint, of
// either side, is the SHA-256 of its delta, for which it is calibrated. The
// fingerprint of a DESIRE-ME expert is that of its head, which works on another
// expert's vectors; HeadFingerprint combines the two.
//
// That of a bundle that stands in for another one is the other's.
func (b *Bundle) Fingerprint(side Side) string {
	if b.standsFor != nil {
		return b.standsFor.Fingerprint(side)
	}
	m := &b.Manifest
	if m.Delta != "" {
		return m.Files[m.Delta]
	}
	if m.Generator != nil {
		return b.generatorFingerprint()
	}
	if m.Head != nil {
		return m.Files[m.Head.File]
	}
	if m.Reader != nil {
		return b.readerFingerprint()
	}
	if m.Reranker != nil {
		return b.rerankerFingerprint()
	}
	v := m.Vectors
	graph := v.Question
	limit := v.MaxTokens.Question
	template := TemplateText
	if side == Passage {
		graph, limit, template = v.Passage, v.MaxTokens.Passage, v.Template
	}
	hash := sha256.New()
	// One value a line, each under its name: no two different manifests give
	// the same bytes.
	_, _ = fmt.Fprintf(
		hash,
		"conclave encoder 1\nkind %q\ndimension %d\npooling %q\nnormalise %t\nmax_tokens %d\nlower_case %t\ntemplate %q\nsimilarity %q\nprecision %q\ntokenizer %s\ngraph %s\nnames %q %q %q %q\none_by_one %t\n",
		m.Kind, v.Dimension, v.Pooling, v.Normalise, limit, m.LowerCase, template, v.Similarity, m.Precision,
		m.Files[m.Tokenizer], m.Files[graph.File], graph.InputIDs, graph.AttentionMask, graph.TokenTypeIDs,
		graph.Embedding, graph.OneByOne,
	)
	if prefix := [...]string{Question: v.Prefix.Question, Passage: v.Prefix.Passage}[side]; prefix != "" {
		_, _ = fmt.Fprintf(hash, "prefix %q\n", prefix) // encoders without one keep their fingerprints
	}
	if v.QuestionWeights != "" && side == Question {
		_, _ = fmt.Fprintf(hash, "question weights %s\n", m.Files[v.QuestionWeights])
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// HeadFingerprint returns the fingerprint, a SHA-256 in hexadecimal, of the question vectors that a head makes of
// another encoder's. run is the fingerprint of those that it is given, and head the head's own
// (Bundle.Fingerprint).
func HeadFingerprint(run, head string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "conclave head 1\nquestion %s\nhead %s\n", run, head))
	return hex.EncodeToString(sum[:])
}
