package calibration

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"example.org/conclave/fusion"
)

// PriorFile is the file name of the shipped prior.
const PriorFile = "confidence.yaml"

// Prior is the confidence of collections without a calibration. It is fitted to several
// collections, each of one domain, and measured leave-one-out.
type Prior struct {
	Signals []string      `yaml:"signals"`
	Chances Chances       `yaml:"chances"`
	LeftOut []PriorDomain `yaml:"left_out"`
}

// PriorDomain measures the fit to the other domains in one domain. By weight, three of four questions have an answer
// there; the others are questions of other domains, and a few with their answers removed (MixtureOf).
type PriorDomain struct {
	Domain    string  `yaml:"domain"`
	Questions int     `yaml:"questions"` // that have an answer there
	ECE       float64 `yaml:"ece"`
	AUROC     float64 `yaml:"auroc"`
}

// Check returns an error if there are no chances, one is invalid, or the signals are others than this version of
// conclave computes.
func (p *Prior) Check() error {
	if !slices.Equal(p.Signals, fusion.SignalNames()) {
		return fmt.Errorf("signals: %v; this version of conclave computes %v: fit it again", p.Signals, fusion.SignalNames())
	}
	if len(p.Chances) == 0 {
		return errors.New("chances: there are none")
	}
	for i := range p.Chances {
		if err := p.Chances[i].Validate(); err != nil {
			return fmt.Errorf("chances: %w", err)
		}
	}
	return nil
}

// For returns the logistic function for the first k passages; nil if p has none, or is nil.
func (p *Prior) For(k int) *Logistic {
	if p == nil {
		return nil
	}
	for i := range p.Chances {
		if p.Chances[i].K == k {
			return &p.Chances[i].Logistic
		}
	}
	return nil
}

// ParsePrior returns the prior in a file's text. It fails if a key is unknown or the prior is invalid.
func ParsePrior(data []byte) (*Prior, error) {
	return parseYAML[Prior](data)
}

// Write writes the prior as text that ParsePrior reads. It returns the first error of w.
func (p *Prior) Write(w io.Writer) error {
	return writeYAML(
		w,
		"# The confidence of collections that nobody calibrated, made by `conclave calibrate\n# prior` (docs/evidence/reliability.md has the command).\n",
		p,
	)
}

// PriorQuestions are the answers to questions in the collection of one domain.
type PriorQuestions struct {
	Domain string
	// Answers are those of RankAnswers; the unanswerable questions are of other domains, or
	// ask nothing (questions.Nonsense).
	Answers []RankedQuestion
}

// Confident returns, for each answer, the chance that its first passage answers, computed from its signals by chances.
// It fails if the signals are not those that were fitted.
func (q *PriorQuestions) Confident(chances fusion.Chances) (confidences []float64, err error) {
	for _, a := range q.Answers {
		sure, err := chances.Of(a.Signals, 1)
		if err != nil {
			return nil, err
		}
		confidences = append(confidences, sure)
	}
	return confidences, nil
}

// countKind returns the number of questions of a kind.
func (q *PriorQuestions) countKind(kind Without) (n int) {
	for _, a := range q.Answers {
		if a.Without == kind {
			n++
		}
	}
	return n
}

// weightedAnswers returns a copy of all answers with mixture weights (withMixtureWeights), scaled so that a domain with
// both kinds of questions weighs size in total. There must be an answerable question.
func (q *PriorQuestions) weightedAnswers(size float64) []RankedQuestion {
	all := withMixtureWeights(q.Answers)
	for i := range all {
		all[i].Weight *= size / ((1 + othersShare) * float64(q.countKind(Answerable)))
	}
	return all
}

// PriorQuestions returns the answers of a gate to the questions of the collection's domain, to the same without the
// passages that answer, and to the unanswerable ones, which are of other domains or ask nothing. The gate is
// withoutLate if the only dense source is an encoder of its own (fusion.ForeignCloseness), without late interaction. It
// fails without questions, without that gate, or if the sources are neither these nor have late interaction.
func (e *Evidence) PriorQuestions(
	domain string, gate, withoutLate *fusion.Gate, specialists int,
) (PriorQuestions, error) {
	out := PriorQuestions{Domain: domain}
	late := func(s fusion.ObservedSource) bool { return s.Kind == fusion.Late }
	if len(e.Questions) > 0 && !slices.ContainsFunc(e.Questions[0].Sources, late) {
		gate = nil
		if foreign, _ := fusion.ForeignCloseness(e.Questions[0].Sources); foreign {
			gate = withoutLate
		}
	}
	if gate == nil || len(e.Questions) == 0 {
		return out, errors.New(
			"it is not searched by the shipped gate with late interaction, nor by the expert for many languages alone: index it with the default experts",
		)
	}
	gates := slices.Repeat([]fusion.Gate{*gate}, Folds)
	answers, err := AnswerByFold(gates, e.Questions, specialists)
	if err != nil {
		return out, err
	}
	out.Answers, err = RankAnswers(e.Questions, e.BesideQuestions, answers, gates, specialists)
	return out, err
}

// worstPrior is the highest calibration error on left-out domains with which a prior is
// shipped.
const worstPrior = .1

// Shippable returns an error if the calibration error on left-out domains is above worstPrior.
func (d *PriorDomain) Shippable() error {
	if d.ECE > worstPrior {
		return fmt.Errorf(
			"the ECE on domains that were left out is %.3f, above %.2f: such a confidence is not to be shipped",
			d.ECE, worstPrior,
		)
	}
	return nil
}

// FitPrior returns chances fitted to all domains, with the figures of each domain by the fit to the others; all has the
// figures over the domains together. It fails if a domain has no questions of its own or none of other domains.
func FitPrior(domains []PriorQuestions) (p Prior, all PriorDomain, err error) {
	p = Prior{Signals: fusion.SignalNames()}
	size := 0.0
	for _, d := range domains {
		own, foreign := d.countKind(Answerable), d.countKind(Unanswerable)
		if own == 0 || foreign == 0 {
			return p, all, fmt.Errorf(
				"domain %s has %d questions of its own and %d of other domains: both are needed", d.Domain, own,
				foreign,
			)
		}
		size += (1 + othersShare) * float64(own) / float64(len(domains))
	}
	for _, k := range chanceDepths() {
		l, err := fitPrior(domains, "", k, size)
		if err != nil {
			return p, all, err
		}
		p.Chances = append(p.Chances, Confidence{K: k, Kind: Platt, Logistic: l})
	}
	var outcomes []Outcome
	for i := range domains {
		d := &domains[i]
		l, err := fitPrior(domains, d.Domain, 1, size)
		if err != nil {
			return p, all, err
		}
		var own []Outcome
		for _, q := range d.weightedAnswers(1) {
			if !q.Without.isMeasured() {
				continue
			}
			odds, err := l.LogOdds(q.Signals)
			if err != nil {
				return p, all, err
			}
			own = append(own, Outcome{sigmoid(odds), q.answeredWithin(1), q.Weight})
		}
		n := d.countKind(Answerable)
		p.LeftOut = append(p.LeftOut, priorDomain(d.Domain, n, own))
		outcomes = append(outcomes, own...)
		all.Questions += n
	}
	return p, priorDomain("all", all.Questions, outcomes), nil
}

// priorDomain returns the figures of n questions' outcomes. The AUROC is .5 if all outcomes are the same.
func priorDomain(name string, n int, outcomes []Outcome) PriorDomain {
	area, some := AUROC(outcomes)
	if !some {
		area = .5
	}
	return PriorDomain{Domain: name, Questions: n, ECE: ECE(outcomes), AUROC: area}
}

// fitPrior fits the chance that one of the first k passages answers to all domains except the one named but ("": to
// all). Each domain weighs size. The fit is pulled towards a chance of one half for any signals. It fails if a signal
// is not a number or there are no questions.
func fitPrior(domains []PriorQuestions, but string, k int, size float64) (Logistic, error) {
	names := fusion.SignalNames()
	nothing := Logistic{Signals: make([]Term, len(names))}
	for i, name := range names {
		nothing.Signals[i].Name = name
	}
	var outcomes []signalOutcome
	for i := range domains {
		if domains[i].Domain == but {
			continue
		}
		for _, q := range domains[i].weightedAnswers(size) {
			outcomes = append(outcomes, q.outcomeWithin(k))
		}
	}
	return fitExact(names, outcomes, &nothing)
}
