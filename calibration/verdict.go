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
	// Read is the same with what a reader said, and Reranked where the reader only scored the passages that it might
	// put first; nil: there was none.
	Read     *ReadVerdict    `yaml:"read,omitempty"`
	Reranked *ReadVerdict    `yaml:"reranked,omitempty"`
	LeftOut  []VerdictDomain `yaml:"left_out"`
}

// AnswerableFit is the chance that a collection answers a question at all, where half of the
// questions are about something else, with the thresholds of verdicts.
type AnswerableFit struct {
	Chance     Logistic         `yaml:"chance"`
	Thresholds reply.Thresholds `yaml:"thresholds"`
}

// ReadVerdict is what a reader's extract.ReadSignals say, or extract.RerankSignals.
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
	Reranked  VerdictRow `yaml:"reranked,omitempty"`
}

// VerdictRow has, from 0 to 1, how many questions with an answer are not "found", and are
// "not_found", and how many of the foreign ones are so.
type VerdictRow struct {
	Doubted         float64 `json:"doubted" yaml:"doubted"`
	Refused         float64 `json:"refused" yaml:"refused"`
	ForeignDoubted  float64 `json:"foreign_doubted" yaml:"foreign_doubted"`
	ForeignNotFound float64 `json:"foreign_not_found" yaml:"foreign_not_found"`
}

// For returns the fit of the reader with this fingerprint; nil if there is none or v is nil.
func (v *VerdictFit) For(reader string) *ReadVerdict {
	if v == nil {
		return nil
	}
	return v.Read.of(reader)
}

// ForReranking returns the fit of the reader with this fingerprint where it reranks; nil if there is none or v is nil.
func (v *VerdictFit) ForReranking(reader string) *ReadVerdict {
	if v == nil {
		return nil
	}
	return v.Reranked.of(reader)
}

// of returns r if it is of the reader with this fingerprint, else nil; nil for nil.
func (r *ReadVerdict) of(reader string) *ReadVerdict {
	if r == nil || r.Reader != reader {
		return nil
	}
	return r
}

// Check returns an error if a fit cannot be used to answer: one of its parts has other signals than this version of
// conclave computes, or thresholds that are out of order.
func (v *VerdictFit) Check() error {
	err := v.Answerable.checkParts(fusion.SignalNames())
	read := v.Read.check("read", extract.ReadSignals())
	return errors.Join(err, read, v.Reranked.check("reranked", extract.RerankSignals()))
}

// check returns an error, which begins with name, if the fit has other signals than want or thresholds that are out of
// order; nil for nil.
func (r *ReadVerdict) check(name string, want []string) error {
	if r == nil {
		return nil
	}
	if err := errors.Join(r.Answerable.checkParts(want), r.First.checkSignals("first", want)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// checkParts returns an error unless the chance has the signals want and the thresholds are valid.
func (a *AnswerableFit) checkParts(want []string) error {
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

// checkThresholds returns an error unless the thresholds are from 0 to 1 and in order.
func checkThresholds(t reply.Thresholds) error {
	if !(t.Doubtful >= 0 && t.Doubtful <= t.Found && t.Found <= 1) {
		return fmt.Errorf("thresholds: found %v and doubtful %v: 0 ≤ doubtful ≤ found ≤ 1", t.Found, t.Doubtful)
	}
	return nil
}

// ParseVerdict returns the fit in a file's text. It fails if a key is unknown or the fit is invalid.
func ParseVerdict(data []byte) (*VerdictFit, error) { return parseYAML[VerdictFit](data) }

// Write writes the fit as text that ParseVerdict reads. It returns the first error of w.
func (v *VerdictFit) Write(w io.Writer) error {
	return writeYAML(w, "# Whether a collection answers at all, made by `conclave-lab calibrate verdict`\n"+
		"# (docs/evidence/reliability.md has the command).\n", v)
}

// Of returns the chance for these signals; errors are LogOdds's.
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

// thresholdsOf returns the thresholds of verdicts by the rule above. answerable has, for each domain, the chances of
// its questions that have an answer, and foreign those of its questions about something else. Each domain counts the
// same.
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

// meanBelow returns the mean over the lists of the share of a list that is below a chance; 0 without lists.
func meanBelow(lists [][]float64, chance float64) float64 {
	sum := 0.0
	for _, list := range lists {
		sum += shareBelow(list, chance) / float64(len(lists))
	}
	return sum
}

// shareBelow returns the share of a list that is below a chance; 0 for an empty list.
func shareBelow(list []float64, chance float64) float64 {
	n := 0
	for _, x := range list {
		if x < chance {
			n++
		}
	}
	return float64(n) / float64(max(len(list), 1))
}

// VerdictQuestions are the answers to questions in the collection of one domain, with a reader's output for them.
type VerdictQuestions struct {
	PriorQuestions
	confidences []float64 // of the first passage, without the reader
	marks       []*Mark   // of each answer; nil: it was not read
}

// Read has a reader read the passages of the answers, and keeps in q what it marked. chances give the confidences
// without the reader, and weight is the reader's weight against the ranking. Questions that ask nothing, generated
// questions, and answers without passages are left out. It fails if the reader does, or ctx ends.
func (q *VerdictQuestions) Read(ctx context.Context, chances fusion.Chances, weight float64, o *ReadingOptions) error {
	var err error
	q.confidences, err = q.Confident(chances)
	if err != nil {
		return err
	}
	var indexes []int
	var answers []RankedQuestion
	var confidences []float64
	for i, a := range q.Answers {
		if a.Without.isMeasured() && len(a.Passages) > 0 {
			indexes, answers, confidences = append(indexes, i), append(answers, a), append(confidences, q.confidences[i])
		}
	}
	marks, err := o.readAnswers(ctx, answers, confidences)
	if err != nil {
		return err
	}
	q.marks = make([]*Mark, len(q.Answers))
	for n, i := range indexes {
		m := marks[n](weight)
		q.marks[i] = &m
	}
	return nil
}

// FitVerdict returns chances fitted to all domains, with figures of each domain by the fit to the others. reader is the
// fingerprint of the reader that read (VerdictQuestions.Read); "": none did, and the fit has no part Read. It fails if
// a domain has no questions of its own or no foreign ones.
func FitVerdict(domains []VerdictQuestions, reader string) (*VerdictFit, error) {
	for _, d := range domains {
		if d.countKind(Answerable) == 0 || d.countKind(Unanswerable) == 0 {
			return nil, fmt.Errorf("domain %s has %d questions of its own and %d foreign ones: both are needed", d.Domain,
				d.countKind(Answerable), d.countKind(Unanswerable))
		}
	}
	out := &VerdictFit{}
	var err error
	out.Answerable.Chance, err = fitAnswerable(domains, "")
	if err != nil {
		return nil, err
	}
	parts := []*verdictPart{{of: &out.Answerable, row: func(d *VerdictDomain) *VerdictRow { return &d.Gate }}}
	if reader != "" {
		out.Read, out.Reranked = &ReadVerdict{Reader: reader}, &ReadVerdict{Reader: reader}
		parts = append(parts,
			&verdictPart{of: &out.Read.Answerable, by: out.Read, row: func(d *VerdictDomain) *VerdictRow { return &d.Read }},
			&verdictPart{of: &out.Reranked.Answerable, by: out.Reranked, reranked: true,
				row: func(d *VerdictDomain) *VerdictRow { return &d.Reranked }})
	}
	for _, p := range parts {
		if p.by != nil {
			if err := p.by.fitDomains(domains, &out.Answerable.Chance, p.reranked); err != nil {
				return nil, err
			}
		}
	}
	out.LeftOut = make([]VerdictDomain, len(domains))
	for i := range domains {
		d := &domains[i]
		out.LeftOut[i] = VerdictDomain{
			Domain: d.Domain, Questions: d.countKind(Answerable), Foreign: d.countKind(Unanswerable),
		}
		alone, err := fitAnswerable(domains, d.Domain)
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			var with *Logistic
			if p.by != nil {
				fit, err := fitRead(domains, d.Domain, &alone, p.reranked)
				if err != nil {
					return nil, err
				}
				with = &fit
			}
			chances, err := d.judgeDomain(&alone, with, p.reranked)
			if err != nil {
				return nil, err
			}
			p.chances = append(p.chances, chances)
		}
	}
	for _, p := range parts {
		p.of.Thresholds = thresholdsOf(withoutDomain(p.chances, -1))
		for i := range domains {
			*p.row(&out.LeftOut[i]) = p.chances[i].rowFor(thresholdsOf(withoutDomain(p.chances, i)))
		}
	}
	return out, nil
}

// verdictPart is one of the fits of FitVerdict: without a reader, with one, or with one that reranks.
type verdictPart struct {
	of       *AnswerableFit
	by       *ReadVerdict // that of is in; nil: without a reader
	reranked bool
	row      func(*VerdictDomain) *VerdictRow
	chances  []judgedDomain // of each domain, by fits to the others
}

// judgedDomain has the chances of a domain's answerable questions and of its foreign ones.
type judgedDomain struct{ answerable, foreign []float64 }

// withoutDomain returns the chances of all domains except the one at index but; -1: of all. Each result has a list for
// each domain.
func withoutDomain(all []judgedDomain, but int) (answerable, foreign [][]float64) {
	for i, d := range all {
		if i != but {
			answerable, foreign = append(answerable, d.answerable), append(foreign, d.foreign)
		}
	}
	return answerable, foreign
}

// rowFor returns what these thresholds do to the domain: the shares of its own and of foreign questions whose chance is
// below Found (doubted), and below Doubtful (refused or not found). It does not set the domain's name.
func (d *judgedDomain) rowFor(t reply.Thresholds) VerdictRow {
	return VerdictRow{
		Doubted: shareBelow(d.answerable, t.Found), Refused: shareBelow(d.answerable, t.Doubtful),
		ForeignDoubted: shareBelow(d.foreign, t.Found), ForeignNotFound: shareBelow(d.foreign, t.Doubtful),
	}
}

// judgeDomain returns the chances that the collection answers the domain's questions, those of Answerable and of
// Unanswerable questions apart; it leaves out questions of other kinds. A chance is what alone makes of a question's
// signals. If with is not nil and a reader read the question, or if reranked reranked it, the chance is what with makes
// of the reader's signals and that chance. It fails if the signals do not fit the model.
func (q *VerdictQuestions) judgeDomain(alone, with *Logistic, reranked bool) (out judgedDomain, err error) {
	for i, a := range q.Answers {
		if a.Without != Answerable && a.Without != Unanswerable {
			continue
		}
		chance, err := alone.Of(a.Signals)
		if signals := q.readSignals(i, reranked); err == nil && with != nil && signals != nil {
			chance, err = with.Of(extract.WithConfidence(signals, chance))
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

// answerableWeights returns the total weight of the questions of each kind in a domain. Those with an answer weigh as
// much as those about something else. Questions whose passages were taken out have none, since they are about what the
// collection has.
func answerableWeights() map[Without]float64 {
	return map[Without]float64{
		Answerable: 1, Unanswerable: 1, Nonsense: nonsenseShare, There: generatedShare, Absent: generatedShare,
	}
}

// fitAnswerable returns the chance that a collection answers, fitted to the signals of all domains except the one named
// but; "": of all. It fails if no fit is found, as without any outcomes.
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
				Weight:    weight / float64(d.countKind(a.Without)) * questionsOfDomain,
				Generated: a.Without == There || a.Without == Absent,
			})
		}
	}
	return fitExact(fusion.SignalNames(), outcomes, nil)
}

// questionsOfDomain is how many questions with an answer each domain counts for.
const questionsOfDomain = 150

// readSignals returns the reader's signals (Mark.firstBy) for the answer at an index; nil if it has none.
func (q *VerdictQuestions) readSignals(at int, reranked bool) []float64 {
	if q.marks == nil || q.marks[at] == nil {
		return nil
	}
	_, signals := q.marks[at].firstBy(reranked)
	return signals
}

// readSignalNames returns the names of a reader's signals (Mark.firstBy).
func readSignalNames(reranked bool) []string {
	if reranked {
		return extract.RerankSignals()
	}
	return extract.ReadSignals()
}

// fitRead returns the chance that a collection answers, fitted to a reader's signals (Mark.firstBy) and the chance by
// alone, of all domains except the one named but; "": of all. Questions without such signals are left out. It fails if
// no fit is found, as without any outcomes.
func fitRead(domains []VerdictQuestions, but string, alone *Logistic, reranked bool) (Logistic, error) {
	var outcomes []signalOutcome
	for i := range domains {
		d := &domains[i]
		if d.Domain == but {
			continue
		}
		for n, a := range d.Answers {
			signals := d.readSignals(n, reranked)
			if a.Without != Answerable && a.Without != Unanswerable || signals == nil {
				continue
			}
			chance, err := alone.Of(a.Signals)
			if err != nil {
				return Logistic{}, err
			}
			outcomes = append(outcomes, signalOutcome{
				Signals: extract.WithConfidence(signals, chance), Correct: a.Without == Answerable,
				Weight: questionsOfDomain / float64(d.countKind(a.Without)),
			})
		}
	}
	return fitLogistic(readSignalNames(reranked), outcomes, nil)
}

// fitDomains sets r.Answerable.Chance and r.First by a reader's signals (Mark.firstBy) for all domains: the chance that
// a collection answers, and the confidence in the first passage, with its error on domains that it was not fitted to.
func (r *ReadVerdict) fitDomains(domains []VerdictQuestions, alone *Logistic, reranked bool) (err error) {
	r.Answerable.Chance, err = fitRead(domains, "", alone, reranked)
	if err != nil {
		return err
	}
	var all []RankedQuestion
	for i := range domains {
		d := &domains[i]
		for n, a := range d.weightedAnswers(2 * questionsOfDomain) {
			if d.marks[n] == nil || !a.Without.isMeasured() {
				continue
			}
			top, signals := d.marks[n].firstBy(reranked)
			if signals == nil {
				continue
			}
			// A domain is one fold or another with all its questions.
			q := RankedQuestion{ID: d.Domain, Signals: signals, Without: a.Without, Weight: a.Weight}
			if a.answersAt(top) {
				q.First = 1
			}
			all = append(all, q)
		}
	}
	fit, err := FitConfidence(readSignalNames(reranked), all, 1, nil)
	if err != nil {
		return fmt.Errorf("the confidence of what was read: %w", err)
	}
	r.First = MarkedChance{ECE: fit.HeldOut.ECE, Chance: fit.Confidence}
	if area := fit.HeldOut.AUROC; area != nil {
		r.First.AUROC = *area
	}
	return nil
}
