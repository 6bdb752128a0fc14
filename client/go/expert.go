package client

// Expert describes a loaded expert.
type Expert struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`      // "dense", or "late" for late interaction
	Dimension int    `json:"dimension"` // of a text's vector, or of a token's
	Index     string `json:"index"`     // "hnsw", "flat", "coder", "late"
	Passages  int    `json:"passages"`
	Rows      int    `json:"rows"`            // of the index, of deleted passages too
	Parts     bool   `json:"parts,omitempty"` // vectors are of parts of passages
	Owner     string `json:"owner,omitempty"` // the expert whose vectors these are; "": its own
	// Fingerprints are those of the question and the passage encoder; "run" is that of the run
	// which an expert with a head shares.
	Fingerprints    map[string]string `json:"fingerprints"`
	Provider        string            `json:"provider"` // "cpu" or "cuda"; "endpoint" where Endpoint is set
	Endpoint        *EndpointInfo     `json:"endpoint,omitempty"`
	Precision       string            `json:"precision"`           // "fp32" or "int8"
	MaxTokens       map[string]int    `json:"max_tokens"`          // question and passage
	Languages       []string          `json:"languages,omitempty"` // that it reads, by ISO 639-1 code
	EnsembleMembers int               `json:"ensemble_members"`
	Domains         []string          `json:"domains,omitempty"`     // that its gate tells (DESIRE-ME)
	Calibration     *CalibrationInfo  `json:"calibration"`           // null when uncalibrated
	Reliability     []ReliabilityBin  `json:"reliability,omitempty"` // of the chance that its own first hit answers
	// Recall has "recall@10" and "recall@100" against exact search, as measured at build.
	Recall   map[string]float64 `json:"recall"`
	Warnings []string           `json:"warnings,omitempty"`
}

// EndpointInfo says where the questions and passages of an expert are sent whose model is behind an HTTP interface.
type EndpointInfo struct {
	Host  string `json:"host"`
	Model string `json:"model"` // its name there
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
