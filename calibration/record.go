package calibration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/disk"

	"go.yaml.in/yaml/v3"
)

// RecordFile is the name of a collection's calibration in its folder.
const RecordFile = "calibration.yaml"

// RecordFormat is the version of the form of a Record's file, the only one that is read.
const RecordFormat = 3

// Record is the calibration of a collection and of the experts that search it.
type Record struct {
	Format  int       `yaml:"format"`
	Written time.Time `yaml:"written"`
	// Questions are the sets that everything was fitted on.
	Questions []QuestionSet `yaml:"questions"`
	// Experts are the temperatures by expert; one without an ensemble has none.
	Experts []ExpertRecord `yaml:"experts,omitempty"`
	// Sources are the chances that the sources' own first hits answer.
	Sources []SourceRecord `yaml:"sources,omitempty"`
	// Sharpness is the power of the experts' confidences by which MUF weighs them; 0: there
	// were no two experts with ensembles.
	Sharpness float64 `yaml:"sharpness,omitempty"`
	// Alpha is BM25's weight in the hybrid.
	Alpha float64 `yaml:"alpha"`
	// Auto is the method that was best on held-out questions.
	Auto string `yaml:"auto"`
	// Specialists, Gate and Chances belong to method gate: how many specialists
	// it asks, the most familiar with the question (0: all); the weights by
	// question; and what an answer's signals (Signals names them) say of its
	// chance to be right.
	Specialists int          `yaml:"specialists,omitempty"`
	Gate        *fusion.Gate `yaml:"gate,omitempty"`
	// GateWithoutLate weighs the sources where late interaction takes no part, of a
	// Gate that was fitted beside it: what is right for three sources is not for two
	// of them. Nil where Gate knows of no late interaction.
	GateWithoutLate *fusion.Gate `yaml:"gate_without_late,omitempty"`
	Signals         []string     `yaml:"signals,omitempty"`
	// ConfidenceAUROC is, for a method that says how sure it is, the chance that of a
	// right and a wrong first passage the right one has the higher confidence.
	ConfidenceAUROC map[string]float64 `yaml:"confidence_auroc,omitempty"`
	Chances         Chances            `yaml:"chances,omitempty"`
	CCE             *CCERecord         `yaml:"cce,omitempty"` // nil: there were no granularities
	// Reading is what was fitted to what the reader said; nil: there was none, or no
	// question of which the answers are known.
	Reading *ReadingFit `yaml:"reading,omitempty"`
	// Reranking is what was fitted for each reranker.
	Reranking []RerankingFit `yaml:"reranking,omitempty"`
	// Verdict are the thresholds of verdicts for this collection; nil: those that are shipped.
	Verdict *OwnThresholds `yaml:"verdict,omitempty"`
	// Reliability is how often the first passage of an answer was right, by confidence,
	// on questions that the chances were not fitted on: for people.
	Reliability []Bin `yaml:"reliability,omitempty"`
	// Thresholds are what some "min_confidence" lose and refuse: for people.
	Thresholds []Threshold `yaml:"thresholds,omitempty"`
}

// QuestionSet names questions that something was fitted on.
type QuestionSet struct {
	Domain    string `yaml:"domain"`
	Questions int    `yaml:"questions"`
	SHA256    string `yaml:"sha256"` // of the ids and texts, a line each
}

// ExpertRecord is the temperature of an expert's ensemble.
type ExpertRecord struct {
	Name        string  `yaml:"name"`
	Fingerprint string  `yaml:"fingerprint"` // of the question encoder it was fitted for
	Temperature float64 `yaml:"temperature"`
	Depth       int     `yaml:"depth"`
	Before      float64 `yaml:"ece_before"`
	After       float64 `yaml:"ece_after"`
}

// RecordText returns the text of the calibration in a collection's folder; nil if there is none. It fails if the file
// cannot be read.
func RecordText(folder string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(folder, RecordFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Check returns an error if the record cannot be used to answer: it is of another format, names no method for "auto",
// has a number out of range, or a part of it is invalid (its own Check). The error names the key, and only the first
// one.
func (r *Record) Check() error {
	if r.Format != RecordFormat {
		return fmt.Errorf("format: %d; this version of conclave reads %d: calibrate again", r.Format, RecordFormat)
	}
	if !(r.Alpha >= 0 && r.Alpha <= fusion.MaxWeight) {
		return fmt.Errorf("alpha: %v is not between 0 and %g", r.Alpha, float64(fusion.MaxWeight))
	}
	if !(r.Sharpness >= 0 && r.Sharpness <= fusion.MaxSharpness) {
		return fmt.Errorf("sharpness: %v is not between 0 and %g", r.Sharpness, float64(fusion.MaxSharpness))
	}
	if r.Specialists < 0 {
		return fmt.Errorf("specialists: %d is not 0 or more", r.Specialists)
	}
	if r.Auto == "" {
		return errors.New("auto: a method is needed")
	}
	for _, x := range r.Experts {
		if !(x.Temperature > 0) || x.Depth < 2 {
			return fmt.Errorf(
				"experts: %s: temperature %v over %d hits; above 0 and at least 2 are needed", x.Name, x.Temperature,
				x.Depth,
			)
		}
	}
	if r.Verdict != nil {
		if err := checkThresholds(r.Verdict.Thresholds); err != nil {
			return fmt.Errorf("verdict: %w", err)
		}
	}
	if r.Reading != nil {
		if err := r.Reading.Check(); err != nil {
			return fmt.Errorf("reading: %w", err)
		}
	}
	for i := range r.Reranking {
		if err := r.Reranking[i].Check(); err != nil {
			return fmt.Errorf("reranking: %w", err)
		}
	}
	if r.CCE != nil {
		if err := r.CCE.Check(); err != nil {
			return fmt.Errorf("cce: %w", err)
		}
	}
	for i := range r.Sources {
		if err := r.Sources[i].Check(); err != nil {
			return fmt.Errorf("sources: %s: %w", r.Sources[i].Name, err)
		}
	}
	if r.Gate != nil {
		if err := r.Gate.Check(); err != nil {
			return fmt.Errorf("gate: %w", err)
		}
	}
	if g := r.GateWithoutLate; g != nil {
		if err := g.Check(); err != nil {
			return fmt.Errorf("gate_without_late: %w", err)
		}
	}
	if len(r.Chances) > 0 {
		if !slices.Equal(r.Signals, fusion.SignalNames()) {
			return fmt.Errorf(
				"signals: %v; this version of conclave computes %v: calibrate again", r.Signals, fusion.SignalNames(),
			)
		}
		for i := range r.Chances {
			if err := r.Chances[i].Validate(); err != nil {
				return fmt.Errorf("chances: %w", err)
			}
		}
	}
	return nil
}

// Expert returns the record of the expert with this name and fingerprint of its question encoder; nil if there is none.
func (r *Record) Expert(name, fingerprint string) *ExpertRecord {
	for i := range r.Experts {
		if x := &r.Experts[i]; x.Name == name && x.Fingerprint == fingerprint {
			return x
		}
	}
	return nil
}

// RerankingOf returns the fit of the reranker with this fingerprint; nil if there is none.
func (r *Record) RerankingOf(reranker string) *RerankingFit {
	for i := range r.Reranking {
		if r.Reranking[i].Reranker == reranker {
			return &r.Reranking[i]
		}
	}
	return nil
}

// ParseRecord returns the record in a file's text. It fails if a key is unknown or the record is invalid.
func ParseRecord(data []byte) (*Record, error) {
	return parseYAML[Record](data)
}

// ReadRecord returns the calibration in a collection's folder; nil if there is none. It fails if the file cannot be
// read or the record is invalid.
func ReadRecord(folder string) (*Record, error) {
	data, err := RecordText(folder)
	if data == nil || err != nil {
		return nil, err
	}
	r, err := ParseRecord(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(folder, RecordFile), err)
	}
	return r, nil
}

// Text returns the record as text that ParseRecord reads. It sets r.Format to RecordFormat, and fails if the record is
// invalid.
func (r *Record) Text() ([]byte, error) {
	r.Format = RecordFormat
	if err := r.Check(); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err := writeYAML(&text, "", r)
	return text.Bytes(), err
}

// Write replaces the calibration in a collection's folder, atomically and durably: after an error the former one is
// there. It sets r.Format, and fails if the record is invalid.
func (r *Record) Write(folder string) error {
	text, err := r.Text()
	if err != nil {
		return err
	}
	return PutRecord(folder, text)
}

// PutRecord replaces the calibration in a collection's folder by this text, atomically and durably. It fails if the
// text is invalid.
func PutRecord(folder string, text []byte) error {
	if _, err := ParseRecord(text); err != nil {
		return err
	}
	return disk.ReplaceFile(disk.OS{}, filepath.Join(folder, RecordFile), func(file *disk.Replacement) error {
		_, err := file.Write(text)
		return err
	})
}

// parseYAML returns the value in a YAML text, checked. It fails if T does not have a key or Check fails. An error of
// Check comes with the value.
func parseYAML[T any, P interface {
	*T
	Check() error
}](data []byte) (*T, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	v := new(T)
	if err := decoder.Decode(v); err != nil {
		return nil, err
	}
	return v, P(v).Check()
}

// writeYAML writes a comment as it is, with its "# " and line ends, and then a value as YAML. The error joins those of
// w and of the encoding.
func writeYAML(w io.Writer, comment string, value any) error {
	_, err := io.WriteString(w, comment)
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	return errors.Join(err, encoder.Encode(value), encoder.Close())
}
