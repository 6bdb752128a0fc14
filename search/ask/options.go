// Package ask declares the parts of a request: options of an answer and of reranking, sorting, boosts, facets,
// synonyms. Typed reads a question with the operators of a search box.
package ask

import (
	"encoding/json"
)

// AnswerOptions asks for an answer: words that a reader marks in the first passages of the ranking, or a text that a
// generator writes from them. In JSON they are true, false or an object. The zero value asks for nothing.
type AnswerOptions struct {
	Wanted   bool
	Reader   string // the name of a reader or generator; "": the first reader
	Passages int    // number of first passages to read; 0: 5, however many are returned
	// Combine is CombineBest or CombineSum; "": CombineBest.
	Combine string
	// MaxTokens is the greatest number of tokens that a generator writes; 0: 32.
	MaxTokens int
	// MinChance is the least chance of a marked answer that is returned; nil: 0.1, if chances are known.
	MinChance *float64
	// Form is the form that a generator has to write in, as OpenAI's response_format; nil: sentences with citations. It
	// is not a part of the JSON.
	Form json.RawMessage `json:"-"`
}

// MarshalJSON writes true or false if no option is set, otherwise an object. It implements json.Marshaler. Form is not
// written. It never fails.
func (o AnswerOptions) MarshalJSON() ([]byte, error) {
	object := answerObject{o.Reader, o.Passages, o.Combine, o.MaxTokens, o.MinChance}
	if !o.Wanted || object == (answerObject{}) {
		return json.Marshal(o.Wanted)
	}
	return json.Marshal(object)
}

// UnmarshalJSON reads true, false or an object, which means true with options; null is false. It implements
// json.Unmarshaler. With an error o is the zero value.
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

// answerObject is the JSON object of AnswerOptions.
type answerObject struct {
	Reader    string   `json:"reader,omitempty"`
	Passages  int      `json:"passages,omitempty"`
	Combine   string   `json:"combine,omitempty"`
	MaxTokens int      `json:"max_tokens,omitempty"`
	MinChance *float64 `json:"min_chance,omitempty"`
}

// CombineBest ranks the words that a reader marked in a passage by their own probability.
const CombineBest = "best" // a passage's best words count for themselves

// RerankAuto is the JSON of RerankOptions, and the default of a server, that lets the server decide.
const RerankAuto = "auto"

// RerankOptions ask a reranker to score the first passages of the ranking. In JSON they are true, false, "auto" or an
// object. The zero value leaves it to the default of the server.
type RerankOptions struct {
	Asked    bool // the request says whether it wants a reranker; if not, Auto and Wanted do not count
	Auto     bool // the server decides, by the collection, the other options and the time
	Wanted   bool
	Model    string // the name of a reranker; "": the first
	Passages int    // the number of first passages to score; 0: 20
}

// MarshalJSON writes "auto", true or false if no option is set, otherwise an object. It implements json.Marshaler. It
// never fails.
func (o RerankOptions) MarshalJSON() ([]byte, error) {
	if o.Auto {
		return json.Marshal(RerankAuto)
	}
	object := rerankObject{o.Model, o.Passages}
	if !o.Wanted || object == (rerankObject{}) {
		return json.Marshal(o.Wanted)
	}
	return json.Marshal(object)
}

// UnmarshalJSON reads true, false, "auto" or an object, which means true with options; null gives the zero value. It
// implements json.Unmarshaler. It fails for anything else.
func (o *RerankOptions) UnmarshalJSON(data []byte) error {
	*o = RerankOptions{}
	if string(data) == "null" {
		return nil
	}
	o.Asked = true
	if string(data) == `"`+RerankAuto+`"` {
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

// rerankObject is the JSON object of RerankOptions.
type rerankObject struct {
	Model    string `json:"model,omitempty"`
	Passages int    `json:"passages,omitempty"`
}

// Sort orders the candidates by a field of their metadata instead of by score. Those without the field come last.
type Sort struct {
	Field string `json:"field"`
	Order string `json:"order,omitempty"` // "asc" (""), or "desc"
}

// Boost adds freshness to the score of passages with a date: Weight times the range of the candidates' scores for a
// date of today, half of that for one that is HalfLife old, and so on. Passages without a date get nothing.
type Boost struct {
	Field    string  `json:"field"`
	HalfLife string  `json:"half_life"`        // "12h", "90d", "8w", "2y"
	Weight   float64 `json:"weight,omitempty"` // 0: 0.2; at most 10
}

// FacetRequest asks how many passages have each value of a field, or a value in each range.
type FacetRequest struct {
	Field string `json:"field"`
	Size  int    `json:"size,omitempty"` // the number of values to list; 0: 10, and 1000 ranges
	// Width makes ranges of numbers: those from 0 up to Width, from Width up to twice that, and so on; 0: none.
	Width float64 `json:"width,omitempty"`
	// Period makes ranges of dates: PeriodYear, PeriodMonth or PeriodDay, in UTC; "": none.
	Period string `json:"period,omitempty"`
}

// The ranges of dates that a facet may have.
const (
	PeriodYear  = "year"
	PeriodMonth = "month"
	PeriodDay   = "day"
)

// CombineSum ranks the words that a reader marked by the sum of the probabilities of equal words in several passages.
const (
	CombineSum = "sum"
)

// GroupByDocument is the value of Request.GroupBy that groups results by document, and not by a metadata field.
const GroupByDocument = "document"

// ReaderAuto is the value of AnswerOptions.Reader that asks for both a reader that marks words and a generator that
// writes, as far as the server has them.
const ReaderAuto = "auto"
