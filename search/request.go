// Package search answers a question: it is the only place that states the
// order of steps from a question to a fused ranking (Engine), and it owns the
// vocabulary of requests, answers and errors that every front end shares.
package search

import (
	"encoding/json"
	"slices"
	"strings"

	"example.org/conclave/search/ask"
	"example.org/conclave/search/storage"
)

// Request is one question and how to answer it. The zero value of every field
// but Question means "the default"; Engine.Search documents the defaults and
// refuses values outside the limits.
type Request struct {
	Question string `json:"question,omitempty"`
	// Messages are a conversation, in the place of Question: the last message of the user
	// is asked, and behind those before it where it cannot stand alone.
	Messages []Message `json:"messages,omitempty"`
	K        int       `json:"k,omitempty"`
	Offset   int       `json:"offset,omitempty"`  // results left out before the first
	Fusion   Methods   `json:"fusion,omitzero"`   // "auto", "muf", …, or a list of them
	Experts  *[]string `json:"experts,omitempty"` // nil: all; empty: none
	BM25     *bool     `json:"bm25,omitempty"`    // nil: true
	// Late says whether late interaction ranks what the others found, where the
	// method weighs it ("gate", and "auto" where it means that) and the collection
	// has it. nil: true.
	Late *bool `json:"late,omitempty"`
	// Specialists is how many of the experts with a domain are asked, the most
	// familiar with the question first. 0: for "gate" (and "auto" where it means
	// that) as many as it was calibrated for, unless Experts names them; for every
	// other method all.
	Specialists int                `json:"specialists,omitempty"`
	Candidates  int                `json:"candidates,omitempty"`
	Exact       bool               `json:"exact,omitempty"`
	Missing     string             `json:"missing,omitempty"` // "exact" or "min"
	Weights     map[string]float64 `json:"weights,omitempty"`
	TimeoutMS   int                `json:"timeout_ms,omitempty"`
	Explain     bool               `json:"explain,omitempty"`
	// "title", "text", "tags", "metadata", "document", "contributions", "sources", "highlights"
	Fields        []string `json:"fields,omitempty"`
	Normalisation string   `json:"normalisation,omitempty"`
	// Sharpness is the power of the experts' confidences by which they are weighted. 0: for
	// "muf" and "hybrid" the calibrated one; for "cce" the surest expert alone answers.
	Sharpness float64        `json:"sharpness,omitempty"`
	Filter    storage.Filter `json:"filter,omitzero"`
	// Collections are those that are searched as one, by name. An Engine is of what it is of, and refuses them:
	// whoever has several finds the engine first.
	Collections []string `json:"collections,omitempty"`
	// Must are words and phrases that a passage has to have, MustNot such as it must not have.
	// A word stands for its other forms too; several words have to stand as they are. They
	// restrict as a filter does, and change no score.
	Must    []string `json:"must,omitempty"`
	MustNot []string `json:"must_not,omitempty"`
	// MinConfidence, 0 to 1: an answer with a lower confidence has no results.
	MinConfidence float64 `json:"min_confidence,omitempty"`
	// Collapse says whether passages with the same title and text, but for white space and
	// case, count once; nil: true.
	Collapse *bool `json:"collapse,omitempty"`
	// Correct says whether words that nobody knows are taken for others that were mistyped;
	// nil: Defaults.Correct.
	Correct *bool `json:"correct,omitempty"`
	// Offsets is what Start and End of answers and highlights count: OffsetBytes (""),
	// OffsetCodePoints or OffsetUTF16.
	Offsets string `json:"offsets,omitempty"`
	// Around is how many passages before and behind a result, in its document, it says the texts
	// of; at most MostAround.
	Around int `json:"around,omitempty"`
	// GroupBy is "" or GroupByDocument: K counts documents then, and GroupSize the passages of
	// each, at most 20; 0: 3.
	GroupBy   string `json:"group_by,omitempty"`
	GroupSize int    `json:"group_size,omitempty"`
	// Facets ask how many passages have each value of some fields of metadata.
	Facets []ask.FacetRequest `json:"facets,omitempty"`
	// Sort orders what was found by a field, and Boost lets new passages rank higher.
	Sort  ask.Sort  `json:"sort,omitzero"`
	Boost ask.Boost `json:"boost,omitzero"`
	// Rerank asks a reranker to score the first passages, too.
	Rerank ask.RerankOptions `json:"rerank,omitzero"`
	// Answer asks for the words that answer, too.
	Answer ask.AnswerOptions `json:"answer,omitzero"`
	// Without are ids of passages that are taken out of what the sources found, with their copies, before it
	// is fused: how sure would the answer be if the collection had none of them? For evaluations; requests
	// over HTTP have no such field.
	Without []string `json:"-"`
}

// restricted returns the filter with the words that passages must have or not.
func (r *Request) restricted() storage.Filter {
	f := r.Filter
	f.Must, f.MustNot = unquoted(r.Must), unquoted(r.MustNot)
	return f
}

// unquoted returns a list without the quotes around phrases.
func unquoted(list []string) []string {
	out := slices.Clone(list)
	for i, text := range out {
		out[i] = strings.Trim(text, " \t\n\"“”„")
	}
	return out
}

// words reports whether BM25 may take part.
func (r *Request) words() bool { return r.BM25 == nil || *r.BM25 }

// Methods is one fusion method or a list of them. In JSON it is a string or an
// array of strings; Listed remembers which, since a list is answered with one
// ranking for each method.
type Methods struct {
	Names  []string
	Listed bool
}

// MarshalJSON writes a string for one method and an array for a list.
func (m Methods) MarshalJSON() ([]byte, error) {
	if !m.Listed && len(m.Names) == 1 {
		return json.Marshal(m.Names[0])
	}
	return json.Marshal(m.Names)
}

// UnmarshalJSON reads a string or an array of strings; null is none, as if the
// field were not there.
func (m *Methods) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var one string
	if err := json.Unmarshal(data, &one); err == nil {
		*m = Methods{Names: []string{one}}
		return nil
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*m = Methods{Names: list, Listed: true}
	return nil
}
