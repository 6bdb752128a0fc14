// Package reply declares the Response to a request and its parts: results and their places in documents, contributions
// of sources, extracts, generated answers, verdicts.
package reply

import (
	"example.org/conclave/internal/conditions"
	"example.org/conclave/search/storage"
)

// Response is the answer to one Request. It has Results for one fusion method (an empty array if nothing was found),
// and Rankings for a list of methods. Fusion is the method that was used: for "auto", the one that it stands for.
type Response struct {
	RequestID string `json:"request_id,omitempty"` // set by the front end
	Question  string `json:"question"`             // as it was asked
	// Asked is the question that was answered, if it is not Question: the part of a long question, or the question made
	// from the messages of a conversation.
	Asked string `json:"asked,omitempty"`
	// Corrected are the misspelt words of the question, and the words that were searched for instead.
	Corrected []Correction `json:"corrected,omitempty"`
	// Synonyms are the words of the question that have synonyms, and which of these were searched for in addition.
	Synonyms   []Expansion `json:"synonyms,omitempty"`
	Fusion     string      `json:"fusion,omitempty"`
	Generation uint64      `json:"generation"`
	Selected   *int        `json:"selected,omitempty"` // passages that match the filter; nil: there is none
	TookMS     float64     `json:"took_ms"`
	Confidence *float64    `json:"confidence"` // that the first result answers, from 0 to 1; null: it is not known
	// Basis says where Confidence comes from: BasisCalibrated, BasisShipped or BasisEnsembles; "": it is not
	// calibrated.
	Basis string   `json:"confidence_basis,omitempty"`
	Any   *float64 `json:"confidence_any,omitempty"` // the probability that any of the results answers
	Judged
	Abstained bool     `json:"abstained,omitempty"`
	Results   []Result `json:"results,omitzero"`
	// Groups take the place of Results if Request.GroupBy is set.
	Groups   []Group   `json:"groups,omitzero"`
	Rankings []Ranking `json:"rankings,omitzero"`
	// Answers are the extracts, the likeliest first; empty: none has a sufficient chance; nil: none were asked for.
	Answers   []Extract  `json:"answers,omitzero"`
	Generated *Generated `json:"generated,omitempty"` // nil: none was asked for, or none was written in time
	// FunctionWords are the function words of the question, such as who and the, in lower case, if Request.Explain is
	// set; nil: the language is not known.
	FunctionWords []string `json:"function_words,omitzero"`
	// Overridden is what an administrator decided for this question, if Request.Explain is set; nil: nothing.
	Overridden *Overridden     `json:"overridden,omitempty"`
	Facets     []storage.Facet `json:"facets,omitempty"` // in the order of the request's
	Sources    []Source        `json:"sources,omitzero"`
	Offsets    string          `json:"offsets,omitempty"` // the unit of positions in texts; "": bytes
	Degraded   []Missing       `json:"degraded"`          // sources and models that failed or were too late
	Notes      []string        `json:"notes,omitempty"`   // sentences for users about the question and the answer
}

// Overridden has the ids that the settings of the collections pin and hide for a question.
type Overridden struct {
	Pinned []string `json:"pinned,omitempty"` // of passages that the caller may find, in their order
	Hidden []string `json:"hidden,omitempty"` // of passages and documents; a restricted caller gets none
}

// Ranking is the ranking of one fusion method, if the request has a list of them.
type Ranking struct {
	Fusion     string   `json:"fusion"`           // the method's name in the request
	Method     string   `json:"method,omitempty"` // the method that "auto" stands for; "": Fusion
	Confidence *float64 `json:"confidence"`
	Basis      string   `json:"confidence_basis,omitempty"`
	Any        *float64 `json:"confidence_any,omitempty"`
	Judged
	Abstained bool     `json:"abstained,omitempty"`
	Results   []Result `json:"results"`
}

// Result is one passage of a ranking. The contributions of the sources add up to its score.
type Result struct {
	Rank int    `json:"rank"` // from 1
	ID   string `json:"id"`
	// Collection is the name of the passage's collection, if several were searched.
	Collection string         `json:"collection,omitempty"`
	Title      string         `json:"title,omitempty"`
	Text       string         `json:"text,omitempty"`
	Tags       []string       `json:"tags,omitempty"`
	Metadata   map[string]any `json:"metadata,omitempty"`
	Place
	Extent
	// Before and After are the texts around the passage in its document, if Request.Around is set.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Copies are the ids of other passages that were found with the same title and text.
	Copies []string `json:"copies,omitempty"`
	// CopiesIn are their collections, in the same order, if several were searched.
	CopiesIn []string `json:"copies_in,omitempty"`
	Score    float64  `json:"score"`
	// Pinned says that an administrator has put the passage first for this question. Its score is its own.
	Pinned        bool           `json:"pinned,omitempty"`
	Contributions []Contribution `json:"contributions,omitzero"`
	// Highlight is the part that is most similar to the question; nil: no expert with parts was asked.
	Highlight *Highlight `json:"highlight,omitempty"`
	// Highlights are the words that late interaction matched, in the order of the passage.
	Highlights []Highlight `json:"highlights,omitempty"`
	// Explanation has the terms of BM25 over words, of phrases and of nearness, if Request.Explain is set.
	Explanation []storage.TermScore `json:"explanation,omitempty"`
}

// Source is the result of asking one source: its status, weight and times.
type Source struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // "dense" or "lexical"
	// Status is StatusOK, StatusSkipped (Reason, or others are more familiar with the question), StatusFailed,
	// StatusDeadline or StatusOverloaded.
	Status     string   `json:"status"`
	Reason     string   `json:"reason,omitempty"` // why a method does not use the source
	Confidence *float64 `json:"confidence,omitempty"`
	Chance     *float64 `json:"chance,omitempty"` // the calibrated probability that its own first hit answers
	// Familiarity is the mean similarity of the question to the nearest representatives of a specialist.
	Familiarity *float64 `json:"familiarity,omitempty"`
	// Domains are the probabilities, independent of each other, that the question is of these domains, by an expert
	// with a head (DESIRE-ME).
	Domains     map[string]float64 `json:"domains,omitempty"`
	Weight      *float64           `json:"weight,omitempty"`
	Hits        int                `json:"hits"`
	Truncated   bool               `json:"truncated,omitempty"`          // the question is longer than the source reads
	Uncertainty *float64           `json:"mutual_information,omitempty"` // nats
	Took        Took               `json:"took_ms"`
}

// Group is a document, or a value of the field that Request.GroupBy names, with its best passages. A passage without
// one is a group of its own.
type Group struct {
	Rank     int                `json:"rank"` // from 1
	Document *DocumentReference `json:"document,omitempty"`
	Value    *conditions.Value  `json:"value,omitempty"`
	Score    float64            `json:"score"`   // that of its best passage
	Results  []Result           `json:"results"` // ranked within the group
}
