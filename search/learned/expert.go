// Package learned declares the models that an Engine works with, as its caller loads them: experts with their encoders,
// readers that mark words, rerankers that score passages, generators that write, and what was fitted to their scores.
package learned

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"example.org/conclave/internal/corpus"
)

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

func (x *Expert) RunFingerprint() string {
	return cmp.Or(x.Info.Fingerprints[FingerprintRun], x.Info.Fingerprints["question"])
}

// IsCalibrated reports whether the expert can say how sure it is.
func (x *Expert) IsCalibrated() bool {
	return x.HasEnsemble() && x.Info.Calibration != nil
}

// HasEnsemble reports whether the expert has members that can disagree.
func (x *Expert) HasEnsemble() bool { return x.Ensemble != nil && x.Ensemble.EnsembleMembers() >= 2 }

// ApplyHead returns the head's output for the vector of a run, and the gate. For an expert
// without a head it returns the run's vector.
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

// CountTokens returns how many tokens an expert reads of texts, and the positions of those of
// which it reads only the beginning.
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

// FingerprintRun is the key, in ExpertInfo.Fingerprints, of the fingerprint of an
// encoder's run. An expert without a head has no such entry: the fingerprint of its run
// is that of its question vectors.
const FingerprintRun = "run"

// SameEncoder reports whether one run of an encoder serves the questions of two experts.
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

// The kinds of text that Embed takes.
const (
	KindQuestion = "question"
	KindPassage  = "passage"
)
