// Package learned declares the models that an Engine works with, as its caller loads them: experts with their encoders,
// readers that mark words, rerankers that score passages, generators that write, and the calibrated chances that belong
// to them.
package learned

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"example.org/conclave/internal/corpus"
)

// Expert is a loaded expert: an encoder, and what was fitted for it.
type Expert struct {
	// Name is unique among the experts, and not "bm25", "phrases" or "near".
	Name string
	// Encoder may be shared: experts with the same Encoder, or with the same
	// fingerprint "run" in Info or, without that, "question", encode a question once.
	Encoder QuestionEncoder
	// Head changes the vector that Encoder gives a question; nil: the expert searches by Encoder's.
	Head Head
	// Passages encodes passages for Embed and Rerank; nil: these return an error.
	Passages PassageEncoder
	// Similarity returns the score of late interaction for the token vectors of a question and of a passage; nil:
	// Rerank returns an error.
	Similarity func(question, passage []float32) (float32, error)
	// Ensemble gives the expert a confidence, if ExpertInfo.Calibration has the temperature and the depth for it; nil:
	// the expert has none.
	Ensemble Ensemble
	// Representatives are the vectors of typical questions of a specialist's domain by the reference, one after the
	// other; nil: the expert is a generalist. A question's nearness to them is the expert's familiarity with it.
	Representatives []float32
	// Chance is the calibrated probability that the expert's own first hit answers; nil: it is not calibrated.
	Chance Chance
	// Granularity is the size of the parts of passages that have a vector each, such as 3 sentences; "": the expert is
	// not one of several granularities of an encoder.
	Granularity string
	Languages   Languages
	// Foreign says that the encoder is neither the reference nor made of it, so that its scores are on another scale.
	Foreign bool
	// Info is what Engine.Expert returns, apart from Name and EnsembleMembers, and from what depends on the generation
	// (storage.IndexInfo).
	Info ExpertInfo
}

// RunFingerprint returns the fingerprint of the run of the encoder for a question: "run" of ExpertInfo.Fingerprints, or
// else "question". It returns "" if there is neither.
func (x *Expert) RunFingerprint() string {
	return cmp.Or(x.Info.Fingerprints[FingerprintRun], x.Info.Fingerprints["question"])
}

// IsCalibrated reports whether the expert has an ensemble and the calibration for it, so that it can give a confidence.
func (x *Expert) IsCalibrated() bool {
	return x.HasEnsemble() && x.Info.Calibration != nil
}

// HasEnsemble reports whether the expert has an ensemble of two members or more.
func (x *Expert) HasEnsemble() bool { return x.Ensemble != nil && x.Ensemble.EnsembleMembers() >= 2 }

// ApplyHead returns the question's vector by the expert's head, and the probabilities of its domains, for the encoder's
// vector run. Without a head it returns run and a nil gate. It fails if the head does, or gives something invalid. The
// vector may be the memory of run or of the head; do not change it.
func (x *Expert) ApplyHead(ctx context.Context, run []float32) (vector, gate []float32, err error) {
	if x.Head == nil {
		return run, nil, nil
	}
	vector, gate, err = x.Head.Apply(ctx, run)
	if err != nil {
		return nil, nil, fmt.Errorf("changing the question's vector: %w", err)
	}
	if domains := x.Head.Domains(); len(gate) != len(domains) {
		return nil, nil, fmt.Errorf("the head gave %d probabilities for %d domains", len(gate), len(domains))
	}
	for _, p := range gate {
		if !(p >= 0 && p <= 1) {
			return nil, nil, fmt.Errorf("the head gave the probability %v", p)
		}
	}
	return vector, slices.Clone(gate), CheckVector(vector, x.Info.Dimension)
}

// CountTokens returns how many tokens the expert reads of all texts together, and the indexes of the texts that it
// reads only the beginning of. kind is KindPassage or KindQuestion. It panics for passages if x.Passages is nil.
func (x *Expert) CountTokens(kind string, texts []string) (tokens int, truncated []int) {
	for i, text := range texts {
		n, cut := 0, false
		if kind == KindPassage {
			n, cut = x.Passages.PassageTokens(corpus.Passage{Text: text})
		} else {
			n, cut = x.Encoder.QuestionTokens(text)
		}
		tokens += n
		if cut {
			truncated = append(truncated, i)
		}
	}
	return tokens, truncated
}

// FingerprintRun is the key in ExpertInfo.Fingerprints for the fingerprint of an encoder's run. An expert without a
// head has no such entry: its run has the fingerprint of its question vectors.
const FingerprintRun = "run"

// SameEncoder reports whether one run of an encoder serves the questions of two experts: they have the same
// RunFingerprint or the same Encoder.
func SameEncoder(a, b *Expert) bool {
	if run := a.RunFingerprint(); run != "" && run == b.RunFingerprint() {
		return true
	}
	return reflect.TypeOf(a.Encoder).Comparable() && reflect.TypeOf(b.Encoder).Comparable() && a.Encoder == b.Encoder
}

// ExpertInfo describes a loaded expert.
type ExpertInfo struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`      // "dense", or "late" for late interaction
	Dimension int    `json:"dimension"` // of a text's vector, or of a token's
	Index     string `json:"index"`     // "hnsw", "flat", "coder", "late"
	Passages  int    `json:"passages"`
	Rows      int    `json:"rows"`            // the vectors in the index, with those of deleted passages
	Parts     bool   `json:"parts,omitempty"` // vectors are of parts of passages
	Owner     string `json:"owner,omitempty"` // the expert whose vectors these are; "": its own
	// Fingerprints are those of the "question" and the "passage" encoder; "run": of the run that an expert with a head
	// shares (FingerprintRun).
	Fingerprints    map[string]string `json:"fingerprints"`
	Provider        string            `json:"provider"` // "cpu" or "cuda"; "endpoint" where Endpoint is set
	Endpoint        *EndpointInfo     `json:"endpoint,omitempty"`
	Precision       string            `json:"precision"`           // "fp32" or "int8"
	MaxTokens       map[string]int    `json:"max_tokens"`          // of "question" and "passage"
	Languages       []string          `json:"languages,omitempty"` // that it reads; nil: all, or it is not known
	EnsembleMembers int               `json:"ensemble_members"`
	Domains         []string          `json:"domains,omitempty"`     // of the expert's head (DESIRE-ME)
	Calibration     *CalibrationInfo  `json:"calibration"`           // null: it is not calibrated
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

// CalibrationInfo describes how an expert's confidence was fitted.
type CalibrationInfo struct {
	Temperature float64 `json:"temperature"`
	Depth       int     `json:"depth"` // the number of hits whose scores are compared
	ECEBefore   float64 `json:"ece_before"`
	ECEAfter    float64 `json:"ece_after"`
	Questions   string  `json:"questions"`
}

// ReliabilityBin counts the questions whose confidence lies in one tenth of 0 to 1, out of questions that were not used
// for fitting.
type ReliabilityBin struct {
	Questions  int     `json:"questions"`
	Confidence float64 `json:"confidence"` // their mean
	Accuracy   float64 `json:"accuracy"`   // the share that was answered
}

// The kinds of text that Embed takes.
const (
	KindQuestion = "question"
	KindPassage  = "passage"
)
