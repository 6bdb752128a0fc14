package handlers

import (
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/storage"
)

// Limits is the answer of /v1/limits: every limit in force, and what a request
// gets that does not say otherwise.
type Limits struct {
	BodyBytes      int64          `json:"body_bytes"`
	QuestionBytes  int            `json:"question_bytes"`
	QuestionTokens map[string]int `json:"question_tokens"`
	FilterTags     int            `json:"filter_tags"`
	FilterTagBytes int            `json:"filter_tag_bytes"`
	K              int            `json:"k"`
	Candidates     int            `json:"candidates"`
	Batch          int            `json:"batch"`
	EmbedInputs    int            `json:"embed_inputs"`
	EmbedBytes     int            `json:"embed_bytes"`
	TimeoutMS      int64          `json:"timeout_ms"`
	Concurrency    int            `json:"concurrency"`
	UploadBytes    int64          `json:"upload_bytes"`
	UploadRate     int            `json:"upload_rate"`
	Uploads        int            `json:"uploads"`
	LineBytes      int            `json:"line_bytes"`
	PassageBytes   int            `json:"passage_bytes"`
	Tags           int            `json:"tags"`
	MetadataBytes  int            `json:"metadata_bytes"`
	AnswerBytes    int            `json:"answer_bytes"`
	UploadAnswer   int64          `json:"upload_answer_bytes"`
	ReadOnly       bool           `json:"read_only"`
	RateRequests   int            `json:"rate_requests"`
	RateWindowMS   int64          `json:"rate_window_ms"`
	JSONDepth      int            `json:"json_depth"`
	JSONValues     int            `json:"json_values"`
	DocumentBytes  int64          `json:"document_bytes"`
	Originals      bool           `json:"originals"` // uploaded files are kept
	Hosts          []string       `json:"hosts"`     // whose pages may be added
	Defaults       LimitDefaults  `json:"defaults"`
}

// LimitDefaults is what a request gets that does not say otherwise.
type LimitDefaults struct {
	Fusion     string `json:"fusion"`
	Auto       string `json:"auto"`
	K          int    `json:"k"`
	Candidates int    `json:"candidates"`
	// Specialists belongs to the method gate, and to auto where it stands for it.
	Specialists int     `json:"specialists"`
	Missing     string  `json:"missing"`
	Alpha       float64 `json:"alpha"`
	Sharpness   float64 `json:"sharpness"`
	TimeoutMS   int64   `json:"timeout_ms"`
}

// getLimits answers GET /v1/limits with the limits of the server and of the call's collection. It returns a problem
// while the collection is not loaded.
func (a *API) getLimits(c *call, _ none) (limits Limits, err error) {
	engine, err := c.admittedEngine()
	if err != nil {
		return limits, err
	}
	l := engine.Limits()
	d := engine.Defaults()
	write := a.options.Write
	limits = Limits{
		UploadBytes: write.UploadBytes, UploadRate: write.BytesASecond, Uploads: write.Uploads, LineBytes: write.LineBytes,
		PassageBytes: write.PassageBytes,
		Tags:         write.Tags, MetadataBytes: write.MetadataBytes, AnswerBytes: l.AnswerBytes,
		UploadAnswer: write.AnswerBytes,
		ReadOnly:     a.options.ReadOnly,
		BodyBytes:    a.options.BodyBytes, QuestionBytes: l.QuestionBytes, QuestionTokens: map[string]int{},
		FilterTags: storage.MaxFilterTags, FilterTagBytes: corpus.MaxTagBytes,
		K: l.K, Candidates: l.Candidates, Batch: l.Batch, EmbedInputs: l.EmbedInputs, EmbedBytes: l.EmbedBytes,
		TimeoutMS: l.Timeout.Milliseconds(), Concurrency: a.options.Admission.Most(),
		RateRequests: a.options.RateRequests, RateWindowMS: a.options.RateWindow.Milliseconds(), JSONDepth: schema.MaxDepth,
		JSONValues: schema.MaxValues, DocumentBytes: write.DocumentBytes, Originals: write.Originals,
		Hosts: append([]string{}, write.Hosts...),
		Defaults: LimitDefaults{
			Fusion: d.Fusion, Auto: d.Auto, K: d.K, Candidates: d.Candidates, Specialists: d.Specialists,
			Missing: string(d.Missing), TimeoutMS: d.Timeout.Milliseconds(), Alpha: d.Alpha, Sharpness: d.Sharpness,
		},
	}
	for _, expert := range engine.Experts() {
		limits.QuestionTokens[expert.Name] = expert.MaxTokens["question"]
	}
	return limits, nil
}
