// Package search answers questions. An Engine takes the steps from a question to a response; Request, its options,
// responses and errors are what every front end uses.
package search

import (
	"encoding/json"
	"slices"
	"strings"

	"example.org/conclave/search/ask"
	"example.org/conclave/search/storage"
)

// Request is one question and how to answer it. The zero value of every field but Question means the default
// (Defaults). Engine.Search refuses values outside the Limits.
type Request struct {
	Question string `json:"question,omitempty"`
	// Messages are a conversation, in the place of Question: the last message of the user is asked, alone and together
	// with what the messages before it are about.
	Messages []Message `json:"messages,omitempty"`
	K        int       `json:"k,omitempty"`
	Offset   int       `json:"offset,omitempty"`  // the number of results before the first that is returned
	Fusion   Methods   `json:"fusion,omitzero"`   // "auto", "muf", …, or a list of them
	Experts  *[]string `json:"experts,omitempty"` // names; nil: all; empty: none
	BM25     *bool     `json:"bm25,omitempty"`    // nil: true
	// Late says whether late interaction scores what the other sources found, if the method is the gate and the
	// collection has it; nil: true.
	Late *bool `json:"late,omitempty"`
	// Specialists is how many specialists are asked, those that are the most familiar with the question. 0: for the
	// gate as many as it was calibrated for, unless Experts names experts; for every other method all.
	Specialists int                `json:"specialists,omitempty"`
	Candidates  int                `json:"candidates,omitempty"`
	Exact       bool               `json:"exact,omitempty"`
	Missing     string             `json:"missing,omitempty"` // "exact" or "min"
	Weights     map[string]float64 `json:"weights,omitempty"`
	TimeoutMS   int                `json:"timeout_ms,omitempty"`
	Explain     bool               `json:"explain,omitempty"`
	// Fields names what results have: "title", "text", "tags", "metadata", "document", "contributions", "sources",
	// "highlights".
	Fields        []string `json:"fields,omitempty"`
	Normalisation string   `json:"normalisation,omitempty"`
	// Sharpness is the power to which the experts' confidences are raised, by which they are weighted. 0: for "muf" and
	// "hybrid" the calibrated one; for "cce" only the surest expert counts.
	Sharpness float64 `json:"sharpness,omitempty"`
	// Weighting is what "muf" weighs experts by: "certainty", or "familiar", that times how familiar the question is to
	// each specialist; "": "certainty".
	Weighting string         `json:"weighting,omitempty"`
	Filter    storage.Filter `json:"filter,omitzero"`
	// Collections are the names of several collections to search as one. An Engine refuses them, since it is for one
	// corpus: a front end with several collections chooses the engine by them and removes them.
	Collections []string `json:"collections,omitempty"`
	// Must are words and phrases that a passage must have, and MustNot those that it must not have. A word also matches
	// its other forms; a phrase has to stand as it is. They restrict as a filter does, and change no score.
	Must    []string `json:"must,omitempty"`
	MustNot []string `json:"must_not,omitempty"`
	// MinConfidence is the least confidence, from 0 to 1, of an answer with results; 0: any.
	MinConfidence float64 `json:"min_confidence,omitempty"`
	// Collapse says whether passages with the same title and text, apart from white space and case, count once; nil:
	// true.
	Collapse *bool `json:"collapse,omitempty"`
	// Correct says whether misspelt words are corrected; nil: Defaults.Correct.
	Correct *bool `json:"correct,omitempty"`
	// Prefix says that the last word is still typed: words of the collection that begin so are searched for, too, and
	// the most frequent one takes its place if no passage has it.
	Prefix bool `json:"prefix,omitempty"`
	// Offsets is the unit of positions in texts: reply.OffsetBytes, OffsetCodePoints or OffsetUTF16; "": bytes.
	Offsets string `json:"offsets,omitempty"`
	// Around is how many passages before and after a result, in its document, are returned as its Before and After; at
	// most presenting.MostAround.
	Around int `json:"around,omitempty"`
	// GroupBy is "", ask.GroupByDocument, or the name of a metadata field. K then counts documents or values, and
	// GroupSize the passages of each, at most 20; 0: 3.
	GroupBy   string `json:"group_by,omitempty"`
	GroupSize int    `json:"group_size,omitempty"`
	// Facets ask how many passages have each value of metadata fields.
	Facets []ask.FacetRequest `json:"facets,omitempty"`
	// Sort orders the results by a metadata field, and Boost lets newer passages rank higher.
	Sort  ask.Sort  `json:"sort,omitzero"`
	Boost ask.Boost `json:"boost,omitzero"`
	// Rerank asks for a reranker to score the first passages.
	Rerank ask.RerankOptions `json:"rerank,omitzero"`
	// Answer asks for an answer: marked words or a generated text.
	Answer ask.AnswerOptions `json:"answer,omitzero"`
	// Without are ids of passages that are removed from what the sources found before fusion, with their copies, as if
	// the collection did not have them. It is for evaluations; requests over HTTP have no such field.
	Without []string `json:"-"`
}

// fullFilter returns the request's filter with Must and MustNot set to the request's own lists, without quotes around
// their texts.
func (r *Request) fullFilter() storage.Filter {
	f := r.Filter
	f.Must, f.MustNot = unquoted(r.Must), unquoted(r.MustNot)
	return f
}

// unquoted returns a copy of a list without the quotes and white space around each text.
func unquoted(list []string) []string {
	out := slices.Clone(list)
	for i, text := range out {
		out[i] = strings.Trim(text, " \t\n\"“”„")
	}
	return out
}

// wantsWords reports whether BM25 may take part.
func (r *Request) wantsWords() bool { return r.BM25 == nil || *r.BM25 }

// Methods is one fusion method or a list of them. In JSON it is a string or an array of strings. Listed is true for an
// array, even of one: the response then has a ranking for each method.
type Methods struct {
	Names  []string
	Listed bool
}

// MarshalJSON writes a string for one method that is not listed, otherwise an array. It implements json.Marshaler. It
// never fails.
func (m Methods) MarshalJSON() ([]byte, error) {
	if !m.Listed && len(m.Names) == 1 {
		return json.Marshal(m.Names[0])
	}
	return json.Marshal(m.Names)
}

// UnmarshalJSON reads a string or an array of strings; null changes nothing. It implements json.Unmarshaler. It fails
// for anything else.
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
