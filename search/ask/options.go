// Package ask declares what a request may ask for beside its question: options of an answer and of reranking, sorting,
// facets, synonyms. Typed reads a request as it is typed into a box.
package ask

import (
	"encoding/json"
)

// AnswerOptions asks for the words that answer the question, which a reader marks in
// the first passages of the ranking. In JSON they are true, false or an object; the
// zero value asks for nothing.
type AnswerOptions struct {
	Wanted   bool
	Reader   string // "": the first
	Passages int    // number of first passages to read; 0: 5, however many are returned
	// Combine is CombineBest ("") or CombineSum.
	Combine string
	// MaxTokens bounds what a generator writes; 0: 32.
	MaxTokens int
	// MinChance is the least chance of an answer that is returned; nil: usualChance, if
	// chances are known.
	MinChance *float64
	// Form is the form that a generator has to write in, as OpenAI's response_format; nil: sentences with citations. It
	// is not a part of the JSON.
	Form json.RawMessage `json:"-"`
}

// MarshalJSON writes true where nothing is chosen.
func (o AnswerOptions) MarshalJSON() ([]byte, error) {
	object := answerObject{o.Reader, o.Passages, o.Combine, o.MaxTokens, o.MinChance}
	if !o.Wanted || object == (answerObject{}) {
		return json.Marshal(o.Wanted)
	}
	return json.Marshal(object)
}

// UnmarshalJSON reads true, false or an object; null is false.
func (o *AnswerOptions) UnmarshalJSON(data []byte) error {
	*o = AnswerOptions{}
	if string(data) == "null" {
		return nil
	}
	if json.Unmarshal(data, &o.Wanted) == nil {
		return nil
	}
	var object answerObject
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	*o = AnswerOptions{
		Wanted: true, Reader: object.Reader, Passages: object.Passages, Combine: object.Combine, MaxTokens: object.MaxTokens,
		MinChance: object.MinChance,
	}
	return nil
}

// answerObject is AnswerOptions as an object.
type answerObject struct {
	Reader    string   `json:"reader,omitempty"`
	Passages  int      `json:"passages,omitempty"`
	Combine   string   `json:"combine,omitempty"`
	MaxTokens int      `json:"max_tokens,omitempty"`
	MinChance *float64 `json:"min_chance,omitempty"`
}

const CombineBest = "best" // a passage's best words count for themselves

// RerankOptions ask a reranker to score the first passages of the ranking. In JSON they are
// true, false or an object; the zero value leaves it to Defaults.Rerank.
type RerankOptions struct {
	Asked    bool // the request says something
	Wanted   bool
	Model    string // "": the first
	Passages int    // how many are scored, from the first; 0: 20
}

// MarshalJSON writes true where nothing is chosen.
func (o RerankOptions) MarshalJSON() ([]byte, error) {
	object := rerankObject{o.Model, o.Passages}
	if !o.Wanted || object == (rerankObject{}) {
		return json.Marshal(o.Wanted)
	}
	return json.Marshal(object)
}

// UnmarshalJSON reads true, false or an object; null is as if nothing was said.
func (o *RerankOptions) UnmarshalJSON(data []byte) error {
	*o = RerankOptions{}
	if string(data) == "null" {
		return nil
	}
	o.Asked = true
	if json.Unmarshal(data, &o.Wanted) == nil {
		return nil
	}
	var object rerankObject
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	*o = RerankOptions{true, true, object.Model, object.Passages}
	return nil
}

// rerankObject is RerankOptions as an object.
type rerankObject struct {
	Model    string `json:"model,omitempty"`
	Passages int    `json:"passages,omitempty"`
}

// Sort puts the candidates that were found in the order of a field of their metadata. Those without
// it come last.
type Sort struct {
	Field string `json:"field"`
	Order string `json:"order,omitempty"` // "asc" (""), or "desc"
}

// Boost adds to the score of passages what they are new: Weight times the range of the candidates'
// scores for one of today, half of it for one that is HalfLife old, and nothing for one without a date.
type Boost struct {
	Field    string  `json:"field"`
	HalfLife string  `json:"half_life"`        // "12h", "90d", "8w", "2y"
	Weight   float64 `json:"weight,omitempty"` // 0: 0.2; at most 10
}

// FacetRequest asks how many passages have each value of a field.
type FacetRequest struct {
	Field string `json:"field"`
	Size  int    `json:"size,omitempty"` // values that are listed; 0: 10
}

// How answers of several passages are combined.
const (
	CombineSum = "sum" // equal words of several passages count together
)

// GroupByDocument is the value of Request.GroupBy.
const GroupByDocument = "document"

// ReaderAuto is the reader that stands for both: one that marks, and a generator that writes, as far
// as there are any.
const ReaderAuto = "auto"
