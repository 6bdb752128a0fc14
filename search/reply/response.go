// Package reply declares the Response to a request, and what it consists of: results and their places in documents,
// contributions of sources, extracts, written answers, verdicts.
package reply

import "example.org/conclave/search/storage"

// Response is the answer to one Request: Results for one fusion method (an
// empty array when nothing was found), Rankings for a list of them. Fusion is
// the method that was used: for "auto", what it stands for.
type Response struct {
	RequestID string `json:"request_id,omitempty"` // set by the front end
	Question  string `json:"question"`             // as it was asked
	// Asked is the part of a long question, or what was made of messages, that was answered.
	Asked string `json:"asked,omitempty"`
	// Corrected are the words of the question that others were asked for in their place.
	Corrected []Correction `json:"corrected,omitempty"`
	// Synonyms are what was searched for beside words of the question.
	Synonyms   []Expansion `json:"synonyms,omitempty"`
	Fusion     string      `json:"fusion,omitempty"`
	Generation uint64      `json:"generation"`
	Selected   *int        `json:"selected,omitempty"` // passages that the filter lets through; nil without one
	TookMS     float64     `json:"took_ms"`
	Confidence *float64    `json:"confidence"` // 0…1; null where it is not known
	// where the confidence comes from: BasisCalibrated, BasisShipped, answering.BasisEnsembles
	Basis string   `json:"confidence_basis,omitempty"`
	Any   *float64 `json:"confidence_any,omitempty"` // the probability that any of the results answers
	Judged
	Abstained bool     `json:"abstained,omitempty"`
	Results   []Result `json:"results,omitzero"`
	// Groups are in the place of Results, with Request.GroupBy.
	Groups   []Group   `json:"groups,omitzero"`
	Rankings []Ranking `json:"rankings,omitzero"`
	// the likeliest first; empty when none is sure enough, nil when not asked for
	Answers   []Extract  `json:"answers,omitzero"`
	Generated *Generated `json:"generated,omitempty"` // nil when none is asked for, or none was written in time
	// FunctionWords are the words of the question that carry nothing, such as who and the, in lower case, with
	// Request.Explain; nil where the language is not known.
	FunctionWords []string        `json:"function_words,omitzero"`
	Facets        []storage.Facet `json:"facets,omitempty"` // in the order of the request's
	Sources       []Source        `json:"sources,omitzero"`
	Offsets       string          `json:"offsets,omitempty"` // what places in texts count, where it is not bytes
	Degraded      []Missing       `json:"degraded"`
	Notes         []string        `json:"notes,omitempty"` // what to know about the question
}

// Ranking is the fused ranking of one method, when several were asked for.
type Ranking struct {
	Fusion     string   `json:"fusion"`           // as asked for
	Method     string   `json:"method,omitempty"` // what "auto" stands for
	Confidence *float64 `json:"confidence"`
	Basis      string   `json:"confidence_basis,omitempty"`
	Any        *float64 `json:"confidence_any,omitempty"`
	Judged
	Abstained bool     `json:"abstained,omitempty"`
	Results   []Result `json:"results"`
}

// Result is one passage of a fused ranking. The contributions of its sources
// add up to its score.
type Result struct {
	Rank int    `json:"rank"` // from 1
	ID   string `json:"id"`
	// Collection is what the passage is of, where several were searched.
	Collection string         `json:"collection,omitempty"`
	Title      string         `json:"title,omitempty"`
	Text       string         `json:"text,omitempty"`
	Tags       []string       `json:"tags,omitempty"`
	Metadata   map[string]any `json:"metadata,omitempty"`
	Place
	Extent
	// Before and After are what stands around the passage in its document, with Request.Around.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// ids of others with this title and text, of those that were found
	Copies []string `json:"copies,omitempty"`
	// CopiesIn are their collections, in the same order, where several were searched.
	CopiesIn      []string       `json:"copies_in,omitempty"`
	Score         float64        `json:"score"`
	Contributions []Contribution `json:"contributions,omitzero"`
	// the part that is most similar to the question, where a granularity took part
	Highlight *Highlight `json:"highlight,omitempty"`
	// where late interaction matched, in the order of the passage
	Highlights []Highlight `json:"highlights,omitempty"`
	// Explanation has BM25's terms and those of phrases, with Request.Explain.
	Explanation []storage.TermScore `json:"explanation,omitempty"`
}

// Source says how one source fared on this question.
type Source struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // "dense" or "lexical"
	// "ok", "skipped" (others are more familiar with the question, or see Reason), "failed", "deadline", "overloaded"
	Status     string   `json:"status"`
	Reason     string   `json:"reason,omitempty"` // why a method leaves it out
	Confidence *float64 `json:"confidence,omitempty"`
	Chance     *float64 `json:"chance,omitempty"` // calibrated, that its own first hit answers
	// with the question's domain: mean similarity to the nearest known questions
	Familiarity *float64 `json:"familiarity,omitempty"`
	// Domains are the probabilities, each for itself, that the question is of these
	// domains: of an expert with a gate (DESIRE-ME).
	Domains     map[string]float64 `json:"domains,omitempty"`
	Weight      *float64           `json:"weight,omitempty"`
	Hits        int                `json:"hits"`
	Truncated   bool               `json:"truncated,omitempty"`          // the question is longer than the source reads
	Uncertainty *float64           `json:"mutual_information,omitempty"` // nats
	Took        Took               `json:"took_ms"`
}

// Group is a document that was found, with its best passages. A passage of no document is a
// group by itself.
type Group struct {
	Rank     int                `json:"rank"` // from 1
	Document *DocumentReference `json:"document,omitempty"`
	Score    float64            `json:"score"`   // that of its best passage
	Results  []Result           `json:"results"` // ranked within the group
}
