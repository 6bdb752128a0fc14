package calibration

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/search/extract"
)

// AnswersFile is the name of the file with the chance that is shipped for answers.
const AnswersFile = "answers.yaml"

// ReadingFit is what was fitted for a reader, with its figures on held-out questions.
type ReadingFit struct {
	Reader    string `yaml:"reader"` // the fingerprint of the reader it was fitted for
	Questions int    `yaml:"questions"`
	// Ranking is what the ranking counts beside the reader (extract.Read.Weigh), fitted where
	// the fit began with none; 0: the ranking is better alone. Top1 is how often the first passage by both answers, on
	// domains that the weight was not fitted to, from 0 to 1.
	Ranking float64 `yaml:"ranking"`
	// Spread is the mean of what the gate's scores of a question's passages deviate from
	// their mean. Gates differ in it by their questions, and Ranking goes with its inverse.
	Spread float64      `yaml:"spread"`
	Top1   float64      `yaml:"top1"`
	Words  MarkedChance `yaml:"words"` // the chance that the marked words are right
	First  MarkedChance `yaml:"first"` // the confidence of the first passage by both
	// Verdict are the thresholds of verdicts where the reader reads; nil: those that are shipped.
	Verdict *OwnThresholds `yaml:"verdict,omitempty"`
	// These are of the ranking and its confidence without the reader.
	WithoutTop1  float64 `yaml:"without_top1"`
	WithoutECE   float64 `yaml:"without_ece"`
	WithoutAUROC float64 `yaml:"without_auroc"`
	// These are of the confidence with the reader, for people: over questions with an answer
	// and as many without one, the same without the passages that answer, or unanswerable ones.
	TakenOut     Half        `yaml:"taken_out,omitempty"`
	Unanswerable *Half       `yaml:"unanswerable,omitempty"`
	Thresholds   []Threshold `yaml:"thresholds,omitempty"`
}

// MarkedChance is a chance with its figures on questions that were held out.
type MarkedChance struct {
	ECE    float64    `yaml:"ece"`
	AUROC  float64    `yaml:"auroc"`
	Chance Confidence `yaml:"chance"`
}

// Check returns an error if the weight is not from 0 to fusion.MaxWeight, the thresholds are out of order, or a chance
// is invalid or has other signals than this version of conclave computes.
func (a *ReadingFit) Check() error {
	if !(a.Ranking >= 0 && a.Ranking <= fusion.MaxWeight) {
		return fmt.Errorf("ranking: %v is not between 0 and %g", a.Ranking, float64(fusion.MaxWeight))
	}
	if a.Verdict != nil {
		if err := checkThresholds(a.Verdict.Thresholds); err != nil {
			return fmt.Errorf("verdict: %w", err)
		}
	}
	words := a.Words.checkSignals("words", extract.AnswerSignals())
	return errors.Join(words, a.First.checkSignals("first", extract.ReadSignals()))
}

// checkSignals returns an error unless the chance has the signals want. name is what the error calls it.
func (m *MarkedChance) checkSignals(name string, want []string) error {
	var names []string
	for _, t := range m.Chance.Logistic.Signals {
		names = append(names, t.Name)
	}
	if !slices.Equal(names, want) {
		return fmt.Errorf("%s: signals: %v; this version of conclave computes %v: fit it again", name, names, want)
	}
	if err := m.Chance.Validate(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// ParseReading returns the fit in a file's text. It fails if a key is unknown or the fit is invalid.
func ParseReading(data []byte) (*ReadingFit, error) {
	return parseYAML[ReadingFit](data)
}

// Of reports whether the fit is of the reader with this fingerprint; false for a nil fit.
func (a *ReadingFit) Of(reader string) bool { return a != nil && a.Reader == reader }

// Surer reports whether the confidence with the reader is to be used: unless it has both a higher ECE and a lower AUROC
// on held-out questions than the one without.
func (a *ReadingFit) Surer() bool {
	return a.First.ECE <= a.WithoutECE || a.First.AUROC >= a.WithoutAUROC
}

// WriteText writes for people how often the first passage answers with and without the reader, the errors of the
// confidences, and what a "min_confidence" would lose and gain. It returns the first error of out.
func (a *ReadingFit) WriteText(out io.Writer) error {
	if _, err := fmt.Fprintf(out, `with a reader, over %s, the same without what answers, and unanswerable ones:
its words are right: ECE %.3f, AUROC %.3f
the first passage answers %.1f of 100 questions (without the reader %.1f)
confidence: ECE %.3f, AUROC %.3f (without the reader %.3f, %.3f)
  against the same without what answers: ECE %.3f, AUROC %s
`, questionsOf(a.Questions), a.Words.ECE, a.Words.AUROC, 100*a.Top1, 100*a.WithoutTop1, a.First.ECE, a.First.AUROC, a.WithoutECE, a.WithoutAUROC, a.TakenOut.ECE, areaOf(a.TakenOut.AUROC)); err != nil {
		return err
	}
	if u := a.Unanswerable; u != nil {
		if _, err := fmt.Fprintf(out, "  against unanswerable ones: ECE %.3f, AUROC %s\n", u.ECE,
			areaOf(u.AUROC)); err != nil {
			return err
		}
	}
	if !a.Surer() {
		_, err := fmt.Fprintln(out, "So the confidence with the reader stays the shipped one.")
		return err
	}
	if len(a.Thresholds) == 0 {
		return nil
	}
	x := chosenThreshold(a.Thresholds)
	_, err := fmt.Fprintf(
		out,
		"With \"min_confidence\": %.2f, %.1f of 100 right first passages are lost, and %.1f of 100 questions\nwhose passages were taken out get no result.\n",
		x.MinConfidence,
		100*x.Lost,
		100*x.TakenOut,
	)
	return err
}

// Write writes the fit as text that ParseReading reads. It returns the first error of w.
func (a *ReadingFit) Write(w io.Writer) error {
	return writeYAML(
		w,
		"# What the shipped reader says of its words and of the first passage, in probabilities: made\n# by `conclave calibrate reader` (docs/evidence/marking.md has the command).\n",
		a,
	)
}
