package sources

// Expert is a way from a question to a ranking, as loaded.
type Expert struct {
	// Name is unique among the experts, and neither "bm25" nor "phrases".
	Name string
	// Encoder may be shared: experts with the same Encoder, or with the same
	// fingerprint "run" in Info or, without that, "question", encode a question once.
	Encoder QuestionEncoder
	// Head changes what Encoder gives a question; nil: the expert searches by that.
	Head Head
	// Passages encodes passages for Embed and Rerank. Nil: they are refused.
	Passages PassageEncoder
	// Similarity scores the token vectors of a passage for those of a question, as the
	// index of late interaction does; nil: Rerank is refused.
	Similarity func(question, passage []float32) (float32, error)
	// Ensemble gives the expert a confidence when the calibration in Info says with
	// which temperature and depth. Nil: it has none.
	Ensemble Ensemble
	// Representatives are questions of the expert's domain, [R, D], as the
	// engine's Reference encodes questions; nil for a generalist. How near a
	// question is to them is the expert's familiarity with it.
	Representatives []float32
	// Chance is the calibrated chance that the expert's own first hit answers;
	// nil where nobody calibrated it.
	Chance Chance
	// Granularity says how large the parts of passages are that the expert's vectors
	// are of, where it is one of several granularities of an encoder; "" for others.
	Granularity string
	// Info is what Engine.Expert answers, but for its Name and EnsembleMembers, and
	// for what depends on the generation: that comes from the View.
	Info ExpertInfo
}

// ExpertInfo describes a loaded expert.
type ExpertInfo struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`      // "dense", or "late" for late interaction
	Dimension int    `json:"dimension"` // of a text's vector, or of a token's
	Index     string `json:"index"`     // "hnsw", "flat", "coder", "late"
	Passages  int    `json:"passages"`
	Rows      int    `json:"rows"`            // of the index, of deleted passages too
	Parts     bool   `json:"parts,omitempty"` // vectors are of parts of passages
	Owner     string `json:"owner,omitempty"` // the expert whose vectors these are; "": its own
	// question and passage encoder; "run": of the run that an expert with a head shares
	Fingerprints    map[string]string `json:"fingerprints"`
	Provider        string            `json:"provider"`   // "cpu" or "cuda"
	Precision       string            `json:"precision"`  // "fp32" or "int8"
	MaxTokens       map[string]int    `json:"max_tokens"` // question and passage
	EnsembleMembers int               `json:"ensemble_members"`
	Domains         []string          `json:"domains,omitempty"`     // that its gate tells (DESIRE-ME)
	Calibration     *CalibrationInfo  `json:"calibration"`           // null when uncalibrated
	Reliability     []ReliabilityBin  `json:"reliability,omitempty"` // of the chance that its own first hit answers
	// "recall@10", "recall@100" against exact search, as measured at build
	Recall   map[string]float64 `json:"recall"`
	Warnings []string           `json:"warnings,omitempty"`
}

// CalibrationInfo is how an expert's confidence was fitted.
type CalibrationInfo struct {
	Temperature float64 `json:"temperature"`
	Depth       int     `json:"depth"` // hits that the mutual information looks at
	ECEBefore   float64 `json:"ece_before"`
	ECEAfter    float64 `json:"ece_after"`
	Questions   string  `json:"questions"`
}

// ReliabilityBin holds the questions whose confidence lies in one tenth of 0 to 1, as
// calibration measured them on questions that it had not fitted on.
type ReliabilityBin struct {
	Questions  int     `json:"questions"`
	Confidence float64 `json:"confidence"` // their mean
	Accuracy   float64 `json:"accuracy"`   // the share that was answered
}

// Took holds the milliseconds that each stage of a source took.
type Took struct {
	Encode     float64 `json:"encode,omitempty"`
	Head       float64 `json:"head,omitempty"`
	Search     float64 `json:"search,omitempty"`
	Confidence float64 `json:"confidence,omitempty"`
}

// The kinds of text that Embed takes.
const (
	KindQuestion = "question"
	KindPassage  = "passage"
)
