package reply

// Took holds the milliseconds that each stage of a source took.
type Took struct {
	Encode     float64 `json:"encode,omitempty"`
	Head       float64 `json:"head,omitempty"`
	Search     float64 `json:"search,omitempty"`
	Confidence float64 `json:"confidence,omitempty"`
}

// Statuses of a source in an answer.
const (
	StatusOK         = "ok"
	StatusFailed     = "failed"
	StatusDeadline   = "deadline"
	StatusOverloaded = "overloaded"
	// StatusSkipped: the expert was not asked, since others are more familiar with the question, it does not read the
	// language of the question or of the passages, another one's late interaction takes part, or no method uses it.
	StatusSkipped = "skipped"
)

// The kinds of sources, as answers and ExpertInfo name them.
const (
	KindDense   = "dense"   // one vector a text
	KindLexical = "lexical" // words, phrases, or their nearness
	KindLate    = "late"    // a vector for each token
	KindSparse  = "sparse"  // a weight for each of some word pieces
)

// The names of the sources BM25 over words, BM25 over phrases, and nearness of words. No expert may have them.
const (
	WordSource   = "bm25"
	PhraseSource = "phrases"
	NearSource   = "near"
)
