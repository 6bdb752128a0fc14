package calibration

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"example.org/conclave/search/extract"
	"example.org/conclave/search/reply"
)

// leastForThresholds is how many questions with an answer give thresholds: one of so many is
// what may be doubted.
const leastForThresholds = 20

// OwnThresholds are the thresholds of a collection, which hold for the chances of one shipped fit.
type OwnThresholds struct {
	reply.Thresholds `yaml:",inline"`
	Fit              string `yaml:"fit"` // the fingerprint of that fit
}

// For returns t's thresholds if they were made for this fit, else the fit's own. t may be nil.
func (t *OwnThresholds) For(fit *AnswerableFit) reply.Thresholds {
	if t == nil || t.Fit != fit.fingerprint() {
		return fit.Thresholds
	}
	return t.Thresholds
}

// fingerprint returns 16 hexadecimal digits that change with the numbers of the fitted chance. A collection's own
// thresholds carry them (OwnThresholds), so that they are used with this fit alone.
func (a *AnswerableFit) fingerprint() string {
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%v", a.Chance)
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// verdictChances are the chances that a collection answers, of questions that it answers and of foreign ones.
type verdictChances struct{ answerable, foreign []float64 }

// add appends the chance that the collection answers question a, by the shipped fit v, to c.answerable or c.foreign.
// read holds the reader's signals; if it is not nil, v's fit for that reader (a fingerprint) is used too. It does
// nothing if v is nil or has no fit for the reader, or if a is neither Answerable nor Unanswerable. It fails if the
// signals are not those that v was fitted to.
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

// ownThresholds returns the collection's thresholds; nil if there are too few questions. The chances come from a fit to
// other collections, so they are as good for foreign questions as before. The thresholds never refuse more than the
// shipped ones, since these questions say nothing about future ones.
func (c *verdictChances) ownThresholds(fit *AnswerableFit) *OwnThresholds {
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

// rowFor returns what these thresholds do to the collected questions: the shares of answerable and of foreign ones
// whose chance is below Found (doubted), and below Doubtful (refused or not found).
func (c *verdictChances) rowFor(t reply.Thresholds) VerdictRow {
	return (&judgedDomain{c.answerable, c.foreign}).rowFor(t)
}

// fitVerdict sets the collection's thresholds of verdicts in f.record, and in f.report what they do. They are of the
// shipped verdict that holds for most questions (shippedFits.commonVerdict), and fitted to those that it holds for. It
// sets neither if none holds, or for fewer than leastForThresholds answerable questions. It fails if the signals are
// not those of the shipped fit. There must be questions.
func (f *fitRun) fitVerdict(ranked []RankedQuestion, shipped shippedFits) error {
	verdict := shipped.commonVerdict(f.Questions)
	if verdict == nil {
		return nil
	}
	var chances verdictChances
	for i := range ranked {
		if shipped.verdictFor(ranked[i].Asked) != verdict {
			continue
		}
		if err := chances.add(verdict, "", &ranked[i], nil); err != nil {
			return err
		}
	}
	f.record.Verdict = chances.ownThresholds(&verdict.Answerable)
	if f.record.Verdict != nil {
		own := f.record.Verdict.Thresholds
		f.report.Verdict = &VerdictReport{
			Thresholds: own, VerdictRow: chances.rowFor(own), Foreign: len(chances.foreign),
		}
	}
	return nil
}

// VerdictReport says what share of the questions the thresholds of verdicts doubt or refuse, from 0 to 1.
type VerdictReport struct {
	reply.Thresholds
	VerdictRow
	Foreign int `json:"foreign"` // unanswerable questions of the files
}

// WriteText writes for people the thresholds of the verdict, and the shares of questions with an answer, and of
// unanswerable ones if there are any, that are not found. It returns the first error of out.
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
