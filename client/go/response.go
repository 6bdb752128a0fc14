package client

// SearchResponse is the answer to one Request: Results for one fusion method (an
// empty array when nothing was found), Rankings for a list of them. Fusion is
// the method that was used: for "auto", what it stands for.
type SearchResponse struct {
	RequestID string `json:"request_id,omitempty"` // as in the server's log
	Question  string `json:"question"`             // as it was asked
	// Asked is the part of a long question, or what was made of messages, that was answered.
	Asked string `json:"asked,omitempty"`
	// Corrected are the words of the question that others were asked for in their place.
	Corrected []Correction `json:"corrected,omitempty"`
	// Synonyms are what was searched for beside words of the question, by the collection's settings.
	Synonyms   []Used   `json:"synonyms,omitempty"`
	Fusion     string   `json:"fusion,omitempty"`
	Generation uint64   `json:"generation"`
	Selected   *int     `json:"selected,omitempty"` // passages that the filter lets through; nil without one
	TookMS     float64  `json:"took_ms"`
	Confidence *float64 `json:"confidence"` // 0…1; null where it is not known
	// Basis says where the confidence comes from: "calibrated" (questions of this collection)
	// or "shipped" (of others); "ensembles": it is how far these agree, and no probability.
	Basis string   `json:"confidence_basis,omitempty"`
	Any   *float64 `json:"confidence_any,omitempty"` // the probability that any of the results answers
	// Verdict says whether the collection answers: "found", "doubtful" or "not_found"; "" where
	// that is not known, and then Notes say why.
	Verdict string `json:"verdict,omitempty"`
	// Answerable is the chance by which that was told, 0…1; Thresholds are what it was compared with.
	Answerable *float64    `json:"answerable,omitempty"`
	Thresholds *Thresholds `json:"verdict_thresholds,omitempty"`
	Abstained  bool        `json:"abstained,omitempty"`
	Results    []Result    `json:"results,omitzero"`
	// Groups are documents with their best passages, in the place of Results, with
	// SearchRequest.GroupBy.
	Groups   []Group   `json:"groups,omitzero"`
	Rankings []Ranking `json:"rankings,omitzero"`
	// Answers has the likeliest first; empty when none is sure enough, nil when not asked for.
	Answers   []Extract  `json:"answers,omitzero"`
	Generated *Generated `json:"generated,omitempty"` // nil when none is asked for, or none was written in time
	// FunctionWords are the words of the question that carry nothing, such as who and the, in lower case, with
	// SearchRequest.Explain; nil where the language is not known.
	FunctionWords []string `json:"function_words,omitzero"`
	// Overridden is what an administrator has chosen for this question, with SearchRequest.Explain; nil: nothing.
	Overridden *Overridden `json:"overridden,omitempty"`
	Facets     []Facet     `json:"facets,omitempty"` // in the order of the request's
	Sources    []Source    `json:"sources,omitzero"`
	Offsets    string      `json:"offsets,omitempty"` // what places in texts count, where it is not bytes
	Degraded   []Missing   `json:"degraded"`
	Notes      []string    `json:"notes,omitempty"` // what to know about the question
}

// Overridden has the ids of passages and documents that the settings of a collection put first, and that they hide, for
// a question. A key with a filter is not told what is hidden.
type Overridden struct {
	Pinned []string `json:"pinned,omitempty"`
	Hidden []string `json:"hidden,omitempty"`
}

// Thresholds are the chances from which a verdict is "found", and from which it is "doubtful".
type Thresholds struct {
	Found    float64 `json:"found"`
	Doubtful float64 `json:"doubtful"`
}

// Ranking is the fused ranking of one method, when several were asked for.
type Ranking struct {
	Fusion     string   `json:"fusion"`           // as asked for
	Method     string   `json:"method,omitempty"` // what "auto" stands for
	Confidence *float64 `json:"confidence"`
	Basis      string   `json:"confidence_basis,omitempty"`
	Any        *float64 `json:"confidence_any,omitempty"`
	// Verdict says whether the collection answers: "found", "doubtful" or "not_found"; "" where
	// that is not known, and then Notes say why.
	Verdict string `json:"verdict,omitempty"`
	// Answerable is the chance by which that was told, 0…1; Thresholds are what it was compared with.
	Answerable *float64    `json:"answerable,omitempty"`
	Thresholds *Thresholds `json:"verdict_thresholds,omitempty"`
	Abstained  bool        `json:"abstained,omitempty"`
	Results    []Result    `json:"results"`
}

// Group is a document with its best passages. A passage of no document is a group by itself.
type Group struct {
	Rank     int                `json:"rank"` // from 1
	Document *DocumentReference `json:"document,omitempty"`
	Value    any                `json:"value,omitempty"` // of the field of SearchRequest.GroupBy
	Score    float64            `json:"score"`           // that of its best passage
	Results  []Result           `json:"results"`         // ranked within the group
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
	// Begin and End are where the passage lies in its document's text, in what
	// SearchRequest.Offsets counts; nil where that is not known.
	Begin *int `json:"begin,omitempty"`
	End   *int `json:"end,omitempty"`
	// Before and After are what stands around the passage in its document, with
	// SearchRequest.Around.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Copies are the ids of others with this title and text, of those that were found.
	Copies []string `json:"copies,omitempty"`
	// CopiesIn are their collections, in the same order, where several were searched.
	CopiesIn []string `json:"copies_in,omitempty"`
	Score    float64  `json:"score"`
	// Pinned says that an administrator has put the passage first for this question.
	Pinned        bool           `json:"pinned,omitempty"`
	Contributions []Contribution `json:"contributions,omitzero"`
	// Highlight is the part that is most similar to the question, where a granularity took part.
	Highlight *Highlight `json:"highlight,omitempty"`
	// Highlights are where late interaction matched, in the order of the passage.
	Highlights []Highlight `json:"highlights,omitempty"`
	// Explanation has the terms of BM25, of phrases and of nearness (TermScore.Near), with SearchRequest.Explain.
	Explanation []TermScore `json:"explanation,omitempty"`
}

// Place names the document that a passage was cut from, and where in it the passage stands. It
// is empty for a passage of no document.
type Place struct {
	Document *DocumentReference `json:"document,omitempty"`
	// Heading is the path of the headings above the passage, with " › " between them.
	Heading string `json:"heading,omitempty"`
	Page    int    `json:"page,omitempty"`     // page, slide or sheet that it begins on, from 1
	PageEnd int    `json:"page_end,omitempty"` // that it ends on; 0 where that is Page
	// Link leads to the passage on its page, where that is on the web; "" where it is not.
	Link string `json:"link,omitempty"`
}

// DocumentReference names a document.
type DocumentReference struct {
	ID     string `json:"id"`
	Title  string `json:"title,omitempty"`
	Source string `json:"source"` // where it is from: an address or a path; its id where nobody said
}

// Contribution says what one source added to a result's score.
type Contribution struct {
	Source string   `json:"source"`
	Score  *float64 `json:"score"` // the source's own score; null where it has none
	Rank   *int     `json:"rank"`  // in the source's own list; null when it was not among its hits
	// Origin says where Score is from: "hit", "exact" (fetched), "min" (the source's lowest),
	// "none", "read" (by a reader), "rerank" (by a reranker), "earlier" (the messages before).
	Origin       string  `json:"origin"`
	Weight       float64 `json:"weight"`
	Contribution float64 `json:"contribution"`
}

// TermScore is one term of a BM25 sum; a phrase is two, with a space between.
type TermScore struct {
	Term         string  `json:"term"`
	Frequency    int     `json:"frequency"`     // in the passage
	DocFrequency int     `json:"doc_frequency"` // passages that have the term
	IDF          float64 `json:"idf"`
	Boost        float64 `json:"boost"` // how often the question has the term
	Score        float64 `json:"score"`
	// For are the question's terms of which Term is another form that the passage has;
	// Score is what it adds beyond what they do. "": Term is the question's own.
	For string `json:"for,omitempty"`
	// Near says that Score is part of the score of nearness, not of BM25's.
	Near bool `json:"near,omitempty"`
}

// Source says how one source fared on this question.
type Source struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // "dense" or "lexical"
	// Status is "ok", "skipped" (others are more familiar with the question, or see Reason),
	// "failed", "deadline" or "overloaded".
	Status     string   `json:"status"`
	Reason     string   `json:"reason,omitempty"` // why a method leaves it out
	Confidence *float64 `json:"confidence,omitempty"`
	Chance     *float64 `json:"chance,omitempty"` // calibrated, that its own first hit answers
	// Familiarity with the question's domain: the mean similarity to the nearest known questions.
	Familiarity *float64 `json:"familiarity,omitempty"`
	// Domains are the probabilities, each for itself, that the question is of these
	// domains: of an expert with a gate (DESIRE-ME).
	Domains map[string]float64 `json:"domains,omitempty"`
	Weight  *float64           `json:"weight,omitempty"`
	Hits    int                `json:"hits"`
	// Truncated says that the question is longer than the source reads.
	Truncated   bool     `json:"truncated,omitempty"`
	Uncertainty *float64 `json:"mutual_information,omitempty"` // nats
	Took        Took     `json:"took_ms"`
}

// Took holds the milliseconds that each stage of a source took.
type Took struct {
	Encode     float64 `json:"encode,omitempty"`
	Head       float64 `json:"head,omitempty"`
	Search     float64 `json:"search,omitempty"`
	Confidence float64 `json:"confidence,omitempty"`
}

// Missing names a source that was left out of the fusion, and why.
type Missing struct {
	Source string `json:"source"`
	Reason string `json:"reason"`
}

// Correction is a word of a question that another one was asked for in its place.
type Correction struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Extract is a run of words of a passage that answers the question.
type Extract struct {
	Text    string `json:"text"`
	Passage string `json:"passage"` // its id
	// Collection is what the passage is of, where several were searched.
	Collection string `json:"collection,omitempty"`
	// Start and End are where the words lie in the passage's text, in what
	// SearchRequest.Offsets counts.
	Start int `json:"start"`
	End   int `json:"end"`
	// Score is the probability of passage and words by the reader alone, over all that it
	// read.
	Score  float64  `json:"score"`
	Chance *float64 `json:"chance"` // the calibrated probability that these words are right; nil: not known
	// Headline says that the words may stand by themselves as the answer.
	Headline bool      `json:"headline"`
	Row      *TableRow `json:"row,omitempty"` // of a table, that the words stand in
	Place
	// At is where the words begin in the document's text; nil where that is not known.
	At *int `json:"at,omitempty"`
}

// TableRow is a row of a table with the table's header.
type TableRow struct {
	Header []string `json:"header"`
	Cells  []string `json:"cells"`
	Column *int     `json:"column,omitempty"` // of the cell that answers, from 0; nil: not known
}

// Highlight is a part of a passage that matches the question.
type Highlight struct {
	Field string  `json:"field"` // "title" or "text"
	Start int     `json:"start"` // in what SearchRequest.Offsets counts
	End   int     `json:"end"`
	Score float64 `json:"score"` // what it adds to its source's score
}

// Generated is an answer in a generator's words.
type Generated struct {
	Text      string    `json:"text"`
	Generated bool      `json:"generated"` // true: a model wrote it
	Reader    string    `json:"reader"`    // the generator's name
	Complete  bool      `json:"complete"`  // it ended by itself, and not at max_tokens
	Tokens    int       `json:"tokens"`
	Score     float64   `json:"score"`   // the probability of these tokens by the model alone; 0: not known
	Support   []Support `json:"support"` // the passages with the most of the model's attention

	Refused   bool              `json:"refused,omitempty"`   // the model found no answer in the passages
	Sentences []WrittenSentence `json:"sentences,omitempty"` // of a model that cites
	Dropped   []WrittenSentence `json:"dropped,omitempty"`   // left out of Text: nothing supports them
	Citations []Citation        `json:"citations,omitempty"` // the passages that Text cites
}

// WrittenSentence is a sentence of a generated answer, compared with the passages that it cites.
type WrittenSentence struct {
	Text      string  `json:"text"`
	Citations []int   `json:"citations"` // numbers of Generated.Citations
	Support   float64 `json:"support"`   // the share of its words that stand there, 0 to 1
	Supported bool    `json:"supported"`
	// Attributed: it cited no passage, or others than the one that supports it; Citations has that.
	Attributed bool `json:"attributed,omitempty"`
	// Unchecked says why it is not compared with passages; "": it is.
	Unchecked string   `json:"unchecked,omitempty"`
	Unfounded []string `json:"unfounded,omitempty"` // numbers and names that stand in no passage
	Unknown   []string `json:"unknown,omitempty"`   // numbers that it cites and no passage has
}

// Citation is a passage that a generated answer cites.
type Citation struct {
	Number     int    `json:"number"` // in the text, [2]
	Passage    string `json:"passage"`
	Collection string `json:"collection,omitempty"` // where several were searched
	Title      string `json:"title,omitempty"`
	Place
}

// Support is a passage that a generated answer attends to.
type Support struct {
	Passage    string  `json:"passage"`              // its id
	Collection string  `json:"collection,omitempty"` // where several were searched
	Share      float64 `json:"share"`                // of the attention, 0 to 1, among the passages that were read
	Place
}

// Facet counts the values of a field: of all passages that the filter lets through, and of the
// candidates that were found. Other is how many passages have a value that is not listed.
type Facet struct {
	Field       string       `json:"field"`
	Selected    []FacetValue `json:"selected"`
	Other       int          `json:"other,omitempty"`
	Approximate bool         `json:"approximate,omitempty"`
	Candidates  []FacetValue `json:"candidates"`
}

// FacetValue is a text, a number or a boolean, and how many passages have it. A range reaches from Value up to To,
// without it.
type FacetValue struct {
	Value any `json:"value"`
	To    any `json:"to,omitempty"`
	Count int `json:"count"`
}

// Used is a word of a question and what was searched for beside it.
type Used struct {
	Word string   `json:"word"`
	As   []string `json:"as"`
}
