package client

import (
	"encoding/json"
)

// SearchRequest is one question and how to answer it. The zero value of every field but
// Question leaves the choice to the server.
type SearchRequest struct {
	Question string `json:"question,omitempty"`
	// Messages are a conversation, in place of Question: the last message of the user is
	// asked, with what it needs of those before it.
	Messages []Message `json:"messages,omitempty"`
	K        int       `json:"k,omitempty"`       // results; 0: the server's limits.k
	Offset   int       `json:"offset,omitempty"`  // results left out before the first
	Fusion   Methods   `json:"fusion,omitzero"`   // see Fusion
	Experts  *[]string `json:"experts,omitempty"` // nil: all; empty: none
	BM25     *bool     `json:"bm25,omitempty"`    // whether words are searched; nil: true
	Late     *bool     `json:"late,omitempty"`    // whether late interaction takes part; nil: true
	// Specialists is how many experts with a domain are asked, the most familiar with the
	// question first; 0: as many as the method was calibrated for.
	Specialists int  `json:"specialists,omitempty"`
	Candidates  int  `json:"candidates,omitempty"` // hits of each source
	Exact       bool `json:"exact,omitempty"`      // compare with every vector
	// Missing says which score a source gives a passage that it did not find: "exact" or "min".
	Missing   string             `json:"missing,omitempty"`
	Weights   map[string]float64 `json:"weights,omitempty"` // by source
	TimeoutMS int                `json:"timeout_ms,omitempty"`
	Explain   bool               `json:"explain,omitempty"` // with the terms of BM25's scores
	// Fields are what results have of "title", "text", "tags", "metadata", "document", "contributions",
	// "sources" and "highlights".
	Fields        []string `json:"fields,omitempty"`
	Normalisation string   `json:"normalisation,omitempty"`
	// Sharpness is the power of the experts' confidences by which they are weighed; 0: as
	// calibrated.
	Sharpness float64 `json:"sharpness,omitempty"`
	// Weighting is what muf weighs experts by: "certainty", or "familiar", that times how familiar the
	// question is to each specialist; "": certainty.
	Weighting string `json:"weighting,omitempty"`
	Filter    Filter `json:"filter,omitzero"`
	// Collections are the names of those that are searched as one, on a server of several.
	Collections []string `json:"collections,omitempty"`
	// Must are words and phrases that a passage has to have, MustNot such as it must not have.
	Must    []string `json:"must,omitempty"`
	MustNot []string `json:"must_not,omitempty"`
	// MinConfidence, 0 to 1: an answer with a lower confidence has no results.
	MinConfidence float64 `json:"min_confidence,omitempty"`
	Collapse      *bool   `json:"collapse,omitempty"` // whether passages with the same text count once; nil: true
	// Correct says whether mistyped words are corrected; nil: as the server is configured.
	Correct *bool `json:"correct,omitempty"`
	// Prefix says that the last word is still typed: it is completed by words of the collection.
	Prefix bool `json:"prefix,omitempty"`
	// Offsets is what Start and End of answers and highlights count: OffsetBytes (""),
	// OffsetCodePoints or OffsetUTF16.
	Offsets string `json:"offsets,omitempty"`
	// Around is how many passages before and behind a result, in its document, it says the
	// texts of, at most 5.
	Around int `json:"around,omitempty"`
	// GroupBy is "", "document" or the name of a metadata field: K counts documents or values then, and GroupSize the
	// passages of each; 0: 3.
	GroupBy   string `json:"group_by,omitempty"`
	GroupSize int    `json:"group_size,omitempty"`
	// Facets ask how many passages have each value of some fields of metadata.
	Facets []FacetRequest `json:"facets,omitempty"`
	// Sort orders what was found by a field, and Boost lets new passages rank higher.
	Sort  Sort  `json:"sort,omitzero"`
	Boost Boost `json:"boost,omitzero"`
	// Rerank asks a reranker to score the first passages, too.
	Rerank RerankOptions `json:"rerank,omitzero"`
	// Answer asks for the words that answer, too.
	Answer AnswerOptions `json:"answer,omitzero"`
}

// What Start and End of answers and highlights count.
const (
	OffsetBytes      = "bytes" // of UTF-8, as Go slices
	OffsetCodePoints = "codepoints"
	OffsetUTF16      = "utf16"
)

// Message is what one party of a conversation said.
type Message struct {
	Role    string `json:"role"` // "user", "assistant", "system", "developer" or "tool"
	Content string `json:"content"`
}

// Filter restricts a search to passages by their tags, documents and metadata; the zero value lets all
// through.
type Filter struct {
	TagsAll []string `json:"tags_all,omitempty"` // each of these
	TagsAny []string `json:"tags_any,omitempty"` // one of these at least
	// Documents are ids of documents: passages of others are not found.
	Documents []string `json:"documents,omitempty"`
	// Condition says what else a passage has to meet; its own tags are those above.
	Condition
}

// FacetRequest names a field, and how many of its values are listed; 0: 10. With Width or Period ("year", "month" or
// "day") ranges of numbers or dates are counted in place of values.
type FacetRequest struct {
	Field  string  `json:"field"`
	Size   int     `json:"size,omitempty"`
	Width  float64 `json:"width,omitempty"`
	Period string  `json:"period,omitempty"`
}

// Sort names a field and an order, "asc" ("") or "desc".
type Sort struct {
	Field string `json:"field"`
	Order string `json:"order,omitempty"`
}

// Boost names a field of dates, the age that halves what is added, such as "90d", and how much that
// is of the range of the candidates' scores; 0: 0.2.
type Boost struct {
	Field    string  `json:"field"`
	HalfLife string  `json:"half_life"`
	Weight   float64 `json:"weight,omitempty"`
}

// Condition is met by a passage that meets all of its parts. A value is a string, a number or a bool;
// days ("2024-05-01") and moments of RFC 3339 are compared with dates.
type Condition struct {
	TagsAll []string `json:"tags_all,omitempty"`
	TagsAny []string `json:"tags_any,omitempty"`

	Field  string `json:"field,omitempty"` // of the metadata
	Eq     any    `json:"eq,omitempty"`
	In     []any  `json:"in,omitempty"`
	Gt     any    `json:"gt,omitempty"`
	Gte    any    `json:"gte,omitempty"`
	Lt     any    `json:"lt,omitempty"`
	Lte    any    `json:"lte,omitempty"`
	Exists *bool  `json:"exists,omitempty"`

	And []Condition `json:"and,omitempty"`
	Or  []Condition `json:"or,omitempty"`
	Not *Condition  `json:"not,omitempty"`
}

// Methods is one fusion method, or a list of them, which is answered with one ranking
// each. In JSON it is a string or an array of strings.
type Methods struct {
	Names  []string
	Listed bool // a list, even if of one
}

// Fusion returns the fusion methods of a SearchRequest: one, or a list, which is answered with one ranking for each.
// Without names it leaves the choice to the server.
func Fusion(names ...string) Methods { return Methods{Names: names, Listed: len(names) > 1} }

// MarshalJSON writes a single name as a string, unless m.Listed is set, and otherwise all names as an array: null if
// m.Names is nil, [] if it is empty.
func (m Methods) MarshalJSON() ([]byte, error) {
	if !m.Listed && len(m.Names) == 1 {
		return json.Marshal(m.Names[0])
	}
	return json.Marshal(m.Names)
}

// UnmarshalJSON reads a string, or an array of strings, which sets Listed. null leaves m as it is, and so does other
// JSON, for which it fails.
func (m *Methods) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var one string
	if json.Unmarshal(data, &one) == nil {
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

// AnswerOptions ask for the words that answer the question, which a reader marks in the
// first results, or for an answer that a generator writes. In JSON they are true, false or
// an object.
type AnswerOptions struct {
	Wanted    bool
	Reader    string   // or generator; "": the first of the server
	Passages  int      // how many are read, from the first; 0: the server chooses
	Combine   string   // of several passages: "best" ("") or "sum"
	MaxTokens int      // that a generator writes; 0: the server chooses
	MinChance *float64 // the least chance of an answer that is returned; nil: the server's
}

// answerObject is AnswerOptions as a JSON object.
type answerObject struct {
	Reader    string   `json:"reader,omitempty"`
	Passages  int      `json:"passages,omitempty"`
	Combine   string   `json:"combine,omitempty"`
	MaxTokens int      `json:"max_tokens,omitempty"`
	MinChance *float64 `json:"min_chance,omitempty"`
}

// MarshalJSON writes false if no answer is wanted, true if nothing else is set, otherwise an object.
func (o AnswerOptions) MarshalJSON() ([]byte, error) {
	object := answerObject{o.Reader, o.Passages, o.Combine, o.MaxTokens, o.MinChance}
	if !o.Wanted || object == (answerObject{}) {
		return json.Marshal(o.Wanted)
	}
	return json.Marshal(object)
}

// UnmarshalJSON reads true, false or an object; null is false. It fails for anything else.
func (o *AnswerOptions) UnmarshalJSON(data []byte) error {
	*o = AnswerOptions{}
	if string(data) == "null" || json.Unmarshal(data, &o.Wanted) == nil {
		return nil
	}
	var object answerObject
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	*o = AnswerOptions{true, object.Reader, object.Passages, object.Combine, object.MaxTokens, object.MinChance}
	return nil
}

// RerankOptions ask a reranker to score the first passages of the ranking, too. In JSON they
// are true, false or an object; the zero value leaves it to the server.
type RerankOptions struct {
	Asked    bool // something is said
	Auto     bool // the server decides
	Wanted   bool
	Model    string // "": the first of the server
	Passages int    // how many are scored, from the first; 0: the server chooses
}

// rerankObject is RerankOptions as a JSON object.
type rerankObject struct {
	Model    string `json:"model,omitempty"`
	Passages int    `json:"passages,omitempty"`
}

// rerankAuto is the JSON of RerankOptions.Auto.
const rerankAuto = `"auto"`

// MarshalJSON writes "auto" if the server decides, false if no reranker is wanted, true if nothing else is set,
// otherwise an object.
func (o RerankOptions) MarshalJSON() ([]byte, error) {
	if o.Auto {
		return []byte(rerankAuto), nil
	}
	object := rerankObject{o.Model, o.Passages}
	if !o.Wanted || object == (rerankObject{}) {
		return json.Marshal(o.Wanted)
	}
	return json.Marshal(object)
}

// UnmarshalJSON reads true, false, "auto" or an object; null is as if nothing was said. It fails for anything else.
func (o *RerankOptions) UnmarshalJSON(data []byte) error {
	*o = RerankOptions{}
	if string(data) == "null" {
		return nil
	}
	o.Asked = true
	if string(data) == rerankAuto {
		o.Auto = true
		return nil
	}
	if json.Unmarshal(data, &o.Wanted) == nil {
		return nil
	}
	var object rerankObject
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	*o = RerankOptions{Asked: true, Wanted: true, Model: object.Model, Passages: object.Passages}
	return nil
}

// embedRequest asks for the vectors of texts.
type embedRequest struct {
	Expert string   `json:"expert"`
	Input  []string `json:"input"`
	Kind   string   `json:"kind,omitempty"`
}
