package calibration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/search/extract"
	"example.org/conclave/search/reply"
)

// VerdictFile is the file name of the shipped verdict.
const VerdictFile = "verdict.yaml"

// VerdictFit tells questions that a collection answers from those about something else, and
// is the confidence of answers that a reader read, where nobody calibrated that. It is fitted
// to several collections, each of one domain, and measured leave-one-out.
type VerdictFit struct {
	Answerable AnswerableFit `yaml:"answerable"`
	// Read is the same with what a reader said; nil: there was none.
	Read    *ReadVerdict    `yaml:"read,omitempty"`
	LeftOut []VerdictDomain `yaml:"left_out"`
}

// AnswerableFit is the chance that a collection answers a question at all, where half of the
// questions are about something else, with the thresholds of verdicts.
type AnswerableFit struct {
	Chance     Logistic         `yaml:"chance"`
	Thresholds reply.Thresholds `yaml:"thresholds"`
}

// ReadVerdict is what a reader's extract.ReadSignals say.
type ReadVerdict struct {
	Reader string `yaml:"reader"` // its fingerprint
	// Answerable reads the chance without the reader in the place of the confidence.
	Answerable AnswerableFit `yaml:"answerable"`
	// First is the confidence of the passage that ranking and reader put first.
	First MarkedChance `yaml:"first"`
}

// VerdictDomain measures the fit to the other domains in one domain, by the thresholds that
// the others give.
type VerdictDomain struct {
	Domain    string     `yaml:"domain"`
	Questions int        `yaml:"questions"` // that have an answer there
	Foreign   int        `yaml:"foreign"`   // that are about something else
	Gate      VerdictRow `yaml:"gate"`
	Read      VerdictRow `yaml:"read,omitempty"`
}

// VerdictRow has, from 0 to 1, how many questions with an answer are not "found", and are
// "not_found", and how many of the foreign ones are so.
type VerdictRow struct {
	Doubted         float64 `json:"doubted" yaml:"doubted"`
	Refused         float64 `json:"refused" yaml:"refused"`
	ForeignDoubted  float64 `json:"foreign_doubted" yaml:"foreign_doubted"`
	ForeignNotFound float64 `json:"foreign_not_found" yaml:"foreign_not_found"`
}

// For returns what the reader with a fingerprint was fitted with; nil: none was. v may be nil.
func (v *VerdictFit) For(reader string) *ReadVerdict {
	if v == nil || v.Read == nil || v.Read.Reader != reader {
		return nil
	}
	return v.Read
}

// Check returns an error for a verdict that cannot be served.
func (v *VerdictFit) Check() error {
	err := v.Answerable.check(fusion.SignalNames())
	if r := v.Read; r != nil {
		err = errors.Join(err, r.Answerable.check(extract.ReadSignals()), r.First.check("first", extract.ReadSignals()))
	}
	return err
}

func (a *AnswerableFit) check(want []string) error {
	var names []string
	for _, t := range a.Chance.Signals {
		names = append(names, t.Name)
	}
	if !slices.Equal(names, want) {
		return fmt.Errorf("answerable: signals: %v; this version of conclave computes %v: fit it again", names, want)
	}
	c := Confidence{K: 1, Kind: Platt, Logistic: a.Chance}
	return errors.Join(c.Validate(), checkThresholds(a.Thresholds))
}

// checkThresholds returns an error for thresholds that no chance can be compared with.
func checkThresholds(t reply.Thresholds) error {
	if !(t.Doubtful >= 0 && t.Doubtful <= t.Found && t.Found <= 1) {
		return fmt.Errorf("thresholds: found %v and doubtful %v: 0 ≤ doubtful ≤ found ≤ 1", t.Found, t.Doubtful)
	}
	return nil
}

// ParseVerdict reads a verdict: strict, as ParseRecord is.
func ParseVerdict(data []byte) (*VerdictFit, error) { return parsed[VerdictFit](data) }

// Write writes the file that ParseVerdict reads.
func (v *VerdictFit) Write(w io.Writer) error {
	return writeYAML(w, "# Whether a collection answers at all, made by `conclave-lab calibrate verdict`\n"+
		"# (docs/evidence/reliability.md has the command).\n", v)
}

// Of returns the chance that the signals give.
func (l *Logistic) Of(signals []float64) (float64, error) {
	odds, err := l.LogOdds(signals)
	return sigmoid(odds), err
}

// The rule for thresholds: "found" is the highest at which no more than tolerableDoubt of the
// questions that have an answer are doubted, but no higher than refuses enoughRefused of the
// foreign ones, where these are known, and never above mostDoubt. Below "doubtful" are
// no more than tolerableRefusal.
const (
	tolerableDoubt   = .05
	tolerableRefusal = .01
	enoughRefused    = .87
	mostDoubt        = .5
)

// thresholdsOf returns the thresholds by the chances of questions that have an answer, and of
// foreign ones, each a list for each domain, which all count the same.
func thresholdsOf(answerable, foreign [][]float64) reply.Thresholds {
	const steps = 1000
	t := reply.Thresholds{}
	for i := range int(mostDoubt*steps) + 1 {
		at := float64(i) / steps
		lost := meanBelow(answerable, at)
		if lost <= tolerableDoubt {
			t.Found = at
		}
		if lost <= tolerableRefusal {
			t.Doubtful = at
		}
		if lost > tolerableDoubt || len(foreign) > 0 && meanBelow(foreign, at) >= enoughRefused {
			break
		}
	}
	t.Doubtful = min(t.Doubtful, t.Found)
	return t
}

// meanBelow returns the share of each list that is below a chance, on the mean.
func meanBelow(lists [][]float64, chance float64) float64 {
	sum := 0.0
	for _, list := range lists {
		sum += shareBelow(list, chance) / float64(len(lists))
	}
	return sum
}

func shareBelow(list []float64, chance float64) float64 {
	n := 0
	for _, x := range list {
		if x < chance {
			n++
		}
	}
	return float64(n) / float64(max(len(list), 1))
}

// VerdictQuestions are the answers to questions in the collection of one domain, and what a
// reader said of them.
type VerdictQuestions struct {
	PriorQuestions
	confidences []float64 // of the first passage, without the reader
	marks       []*Mark   // of each answer; nil: it was not read
}

// Read lets a reader, with its weight in the order, read for the answers whose confidence the
// chances give. Texts that ask nothing and generated questions are not read for.
func (q *VerdictQuestions) Read(ctx context.Context, chances fusion.Chances, weight float64, o *ReadingOptions) error {
	var err error
	q.confidences, err = q.Confident(chances)
	if err != nil {
		return err
	}
	var of []int
	var answers []RankedQuestion
	var confidences []float64
	for i, a := range q.Answers {
		if a.Without.measured() && len(a.Passages) > 0 {
			of, answers, confidences = append(of, i), append(answers, a), append(confidences, q.confidences[i])
		}
	}
	marks, err := o.read(ctx, answers, confidences)
	if err != nil {
		return err
	}
	q.marks = make([]*Mark, len(q.Answers))
	for n, i := range of {
		m := marks[n](weight)
		q.marks[i] = &m
	}
	return nil
}

// FitVerdict fits the chances, and measures each domain by the fit to the others. reader is the
// fingerprint of the one that read; "": none did.
func FitVerdict(domains []VerdictQuestions, reader string) (*VerdictFit, error) {
	for _, d := range domains {
		if d.count(Answerable) == 0 || d.count(Unanswerable) == 0 {
			return nil, fmt.Errorf("domain %s has %d questions of its own and %d foreign ones: both are needed", d.Domain,
				d.count(Answerable), d.count(Unanswerable))
		}
	}
	out := &VerdictFit{}
	var err error
	out.Answerable.Chance, err = fitAnswerable(domains, "")
	if err != nil {
		return nil, err
	}
	if reader != "" {
		out.Read = &ReadVerdict{Reader: reader}
		if err := out.Read.fit(domains, &out.Answerable.Chance); err != nil {
			return nil, err
		}
	}
	gate, read := make([]judgedDomain, len(domains)), make([]judgedDomain, len(domains))
	out.LeftOut = make([]VerdictDomain, len(domains))
	for i := range domains {
		d := &domains[i]
		out.LeftOut[i] = VerdictDomain{Domain: d.Domain, Questions: d.count(Answerable), Foreign: d.count(Unanswerable)}
		alone, err := fitAnswerable(domains, d.Domain)
		if err != nil {
			return nil, err
		}
		gate[i], err = d.judge(&alone, nil)
		if err != nil {
			return nil, err
		}
		if reader == "" {
			continue
		}
		with, err := fitRead(domains, d.Domain, &alone)
		if err != nil {
			return nil, err
		}
		read[i], err = d.judge(&alone, &with)
		if err != nil {
			return nil, err
		}
	}
	out.Answerable.Thresholds = thresholdsOf(columns(gate, -1))
	if reader != "" {
		out.Read.Answerable.Thresholds = thresholdsOf(columns(read, -1))
	}
	for i := range domains {
		out.LeftOut[i].Gate = gate[i].by(thresholdsOf(columns(gate, i)))
		if reader != "" {
			out.LeftOut[i].Read = read[i].by(thresholdsOf(columns(read, i)))
		}
	}
	return out, nil
}

// judgedDomain has the chances of a domain's questions.
type judgedDomain struct{ answerable, foreign []float64 }

// columns returns the chances of all domains but one.
func columns(all []judgedDomain, but int) (answerable, foreign [][]float64) {
	for i, d := range all {
		if i != but {
			answerable, foreign = append(answerable, d.answerable), append(foreign, d.foreign)
		}
	}
	return answerable, foreign
}

func (d *judgedDomain) by(t reply.Thresholds) VerdictRow {
	return VerdictRow{
		Doubted: shareBelow(d.answerable, t.Found), Refused: shareBelow(d.answerable, t.Doubtful),
		ForeignDoubted: shareBelow(d.foreign, t.Found), ForeignNotFound: shareBelow(d.foreign, t.Doubtful),
	}
}

// judge returns the chances of a domain's questions, with those that were read by the second
// function, which may be nil.
func (q *VerdictQuestions) judge(alone, with *Logistic) (out judgedDomain, err error) {
	for i, a := range q.Answers {
		if a.Without != Answerable && a.Without != Unanswerable {
			continue
		}
		chance, err := alone.Of(a.Signals)
		if err == nil && with != nil && q.marks[i] != nil && q.marks[i].First != nil {
			chance, err = with.Of(extract.WithConfidence(q.marks[i].First, chance))
		}
		if err != nil {
			return out, err
		}
		if a.Without == Answerable {
			out.answerable = append(out.answerable, chance)
		} else {
			out.foreign = append(out.foreign, chance)
		}
	}
	return out, nil
}

// answerableWeights returns what the questions of a kind weigh together in a domain: those with
// an answer as much as those about something else. What was taken out is about what the
// collection has, and does not count.
func answerableWeights() map[Without]float64 {
	return map[Without]float64{
		Answerable: 1, Unanswerable: 1, Nonsense: nonsenseShare, There: generatedShare, Absent: generatedShare,
	}
}

// fitAnswerable fits to all domains but one.
func fitAnswerable(domains []VerdictQuestions, but string) (Logistic, error) {
	var outcomes []signalOutcome
	for i := range domains {
		d := &domains[i]
		if d.Domain == but {
			continue
		}
		for _, a := range d.Answers {
			weight := answerableWeights()[a.Without]
			if weight == 0 {
				continue
			}
			outcomes = append(outcomes, signalOutcome{
				Signals: a.Signals, Correct: a.Without == Answerable || a.Without == There,
				Weight:    weight / float64(d.count(a.Without)) * questionsOfDomain,
				Generated: a.Without == There || a.Without == Absent,
			})
		}
	}
	return fitExact(fusion.SignalNames(), outcomes, nil)
}

// questionsOfDomain is how many questions with an answer each domain counts for.
const questionsOfDomain = 150

// fitRead fits to what a reader said in all domains but one.
func fitRead(domains []VerdictQuestions, but string, alone *Logistic) (Logistic, error) {
	var outcomes []signalOutcome
	for i := range domains {
		d := &domains[i]
		if d.Domain == but {
			continue
		}
		for n, a := range d.Answers {
			if a.Without != Answerable && a.Without != Unanswerable || d.marks[n] == nil || d.marks[n].First == nil {
				continue
			}
			chance, err := alone.Of(a.Signals)
			if err != nil {
				return Logistic{}, err
			}
			outcomes = append(outcomes, signalOutcome{
				Signals: extract.WithConfidence(d.marks[n].First, chance), Correct: a.Without == Answerable,
				Weight: questionsOfDomain / float64(d.count(a.Without)),
			})
		}
	}
	return fitLogistic(extract.ReadSignals(), outcomes, nil)
}

// fit fits the chances of what the reader said, and measures the confidence leave-one-out.
func (r *ReadVerdict) fit(domains []VerdictQuestions, alone *Logistic) (err error) {
	r.Answerable.Chance, err = fitRead(domains, "", alone)
	if err != nil {
		return err
	}
	var all []RankedQuestion
	for i := range domains {
		d := &domains[i]
		for n, a := range d.weighted(2 * questionsOfDomain) {
			m := d.marks[n]
			if m == nil || m.First == nil || !a.Without.measured() {
				continue
			}
			// A domain is one fold or another with all its questions.
			q := RankedQuestion{ID: d.Domain, Signals: m.First, Without: a.Without, Weight: a.Weight}
			if a.first(m) {
				q.First = 1
			}
			all = append(all, q)
		}
	}
	fit, err := FitConfidence(extract.ReadSignals(), all, 1, nil)
	if err != nil {
		return fmt.Errorf("the confidence of what was read: %w", err)
	}
	r.First = MarkedChance{ECE: fit.HeldOut.ECE, Chance: fit.Confidence}
	if area := fit.HeldOut.AUROC; area != nil {
		r.First.AUROC = *area
	}
	return nil
}

// WriteText writes the figures of the domains that were left out, and their means, for people.
func (v *VerdictFit) WriteText(out io.Writer) error {
	t := newTable(out)
	_, _ = fmt.Fprintln(t, "\t\tdoubted\tnot found\tdoubted\tnot found\t")
	_, _ = fmt.Fprintln(t, "left out\tquestions\tanswerable\tanswerable\tforeign\tforeign\t")
	for _, read := range []bool{false, true} {
		if read && v.Read == nil {
			break
		}
		title := "without a reader"
		if read {
			title = "with a reader"
		}
		_, _ = fmt.Fprintf(t, "%s\t\t\t\t\t\t\n", title)
		var sum VerdictRow
		line := func(name string, n int, r VerdictRow) {
			_, _ = fmt.Fprintf(t, "%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t\n", name, n, 100*r.Doubted, 100*r.Refused,
				100*r.ForeignDoubted, 100*r.ForeignNotFound)
		}
		all := 0
		for _, d := range v.LeftOut {
			r := d.Gate
			if read {
				r = d.Read
			}
			line(d.Domain, d.Questions, r)
			n := float64(len(v.LeftOut))
			sum.Doubted, sum.Refused = sum.Doubted+r.Doubted/n, sum.Refused+r.Refused/n
			sum.ForeignDoubted, sum.ForeignNotFound = sum.ForeignDoubted+r.ForeignDoubted/n,
				sum.ForeignNotFound+r.ForeignNotFound/n
			all += d.Questions
		}
		line("mean", all, sum)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nfound from %.3f, doubtful from %.3f\n", v.Answerable.Thresholds.Found,
		v.Answerable.Thresholds.Doubtful)
	if v.Read != nil && err == nil {
		_, err = fmt.Fprintf(out, "with a reader: found from %.3f, doubtful from %.3f; confidence: ECE %.3f, AUROC %.3f\n",
			v.Read.Answerable.Thresholds.Found, v.Read.Answerable.Thresholds.Doubtful, v.Read.First.ECE, v.Read.First.AUROC)
	}
	return err
}
