package calibration

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"example.org/conclave/fusion"
	"example.org/conclave/search/extract"
	"example.org/conclave/search/reply"
)

// leastForThresholds is how many questions with an answer give thresholds: one of so many is
// what may be doubted.
const leastForThresholds = 20

// OwnThresholds are those of a collection. They hold for the chances of one shipped fit.
type OwnThresholds struct {
	reply.Thresholds `yaml:",inline"`
	Fit              string `yaml:"fit"` // the fingerprint of that fit
}

// For returns the thresholds of a shipped fit as the collection has them, or else its own.
// t may be nil.
func (t *OwnThresholds) For(fit *AnswerableFit) reply.Thresholds {
	if t == nil || t.Fit != fit.fingerprint() {
		return fit.Thresholds
	}
	return t.Thresholds
}

// fingerprint tells one fit from another.
func (a *AnswerableFit) fingerprint() string {
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%v", a.Chance)
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// verdictChances are the chances that a collection answers, of questions that it answers and of
// others.
type verdictChances struct{ answerable, foreign []float64 }

// add takes the chance of an answer by what is shipped, with what a reader said of it where its
// signals are not nil. Nothing is added where nothing is shipped.
func (c *verdictChances) add(v *VerdictFit, reader string, a *RankedQuestion, read []float64) error {
	if v == nil || read != nil && v.For(reader) == nil || a.Without != Answerable && a.Without != Unanswerable {
		return nil
	}
	chance, err := v.Answerable.Chance.Of(a.Signals)
	if err == nil && read != nil {
		chance, err = v.Read.Answerable.Chance.Of(extract.WithConfidence(read, chance))
	}
	if err != nil {
		return fmt.Errorf("the chance that there is an answer: %w", err)
	}
	if a.Without == Answerable {
		c.answerable = append(c.answerable, chance)
	} else {
		c.foreign = append(c.foreign, chance)
	}
	return nil
}

// thresholds returns those of the collection; nil of too few questions. The chances are fitted
// to other collections, so that foreign questions are as well known as before, and none of these
// was fitted to. No more is refused than by what is shipped: questions with an answer do not say how
// sure those are which others will ask.
func (c *verdictChances) thresholds(fit *AnswerableFit) *OwnThresholds {
	if len(c.answerable) < leastForThresholds {
		return nil
	}
	var foreign [][]float64
	if len(c.foreign) > 0 {
		foreign = [][]float64{c.foreign}
	}
	own := thresholdsOf([][]float64{c.answerable}, foreign)
	own.Doubtful = min(own.Doubtful, fit.Thresholds.Doubtful)
	return &OwnThresholds{own, fit.fingerprint()}
}

// row measures thresholds.
func (c *verdictChances) row(t reply.Thresholds) VerdictRow {
	return (&judgedDomain{c.answerable, c.foreign}).by(t)
}

// verdict chooses the thresholds of verdicts.
func (f *fitting) verdict(ranked []RankedQuestion) error {
	if !fusion.Closeness(f.Questions[0].Sources) {
		return nil
	}
	var chances verdictChances
	for i := range ranked {
		if err := chances.add(f.options.Verdict, "", &ranked[i], nil); err != nil {
			return err
		}
	}
	if f.options.Verdict == nil {
		return nil
	}
	f.record.Verdict = chances.thresholds(&f.options.Verdict.Answerable)
	if f.record.Verdict != nil {
		own := f.record.Verdict.Thresholds
		f.report.Verdict = &VerdictReport{Thresholds: own, VerdictRow: chances.row(own), Foreign: len(chances.foreign)}
	}
	return nil
}

// VerdictReport says what the thresholds of verdicts do to the questions. Shares are 0 to 1.
type VerdictReport struct {
	reply.Thresholds
	VerdictRow
	Foreign int `json:"foreign"` // unanswerable questions of the files
}

// WriteText writes the report for people.
func (r *VerdictReport) WriteText(out io.Writer) error {
	_, err := fmt.Fprintf(out, "\nverdict: \"found\" from %.3f, \"doubtful\" from %.3f: %.1f of 100 questions with an answer\nare not found",
		r.Found, r.Thresholds.Doubtful, 100*r.Doubted)
	if err == nil && r.Foreign > 0 {
		_, err = fmt.Fprintf(out, ", and %.1f of 100 unanswerable ones", 100*r.ForeignDoubted)
	}
	if err == nil {
		_, err = fmt.Fprintln(out, ".")
	}
	return err
}
