package calibration

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"conclave/fusion"
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

// PriorDomain measures the fit to the other domains in one domain. By weight, half of the
// questions have an answer there, a quarter are the same with their answers removed, and a
// quarter are of other domains.
type PriorDomain struct {
	Domain    string  `yaml:"domain"`
	Questions int     `yaml:"questions"` // that have an answer there
	ECE       float64 `yaml:"ece"`
	AUROC     float64 `yaml:"auroc"`
}

// Check returns an error for a prior that cannot be served.
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

// For is the logistic function for the first k passages; nil where there is none,
// or no prior.
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

// ParsePrior reads a prior: strict, as ParseRecord is.
func ParsePrior(data []byte) (*Prior, error) {
	return parsed[Prior](data)
}

// Write writes the file that ParsePrior reads.
func (p *Prior) Write(w io.Writer) error {
	return writeYAML(w, "# The confidence of collections that nobody calibrated, made by `conclave calibrate\n# prior` (docs/confidence.md has the command).\n", p)
}

// PriorQuestions are the answers to questions in the collection of one domain.
type PriorQuestions struct {
	Domain   string
	Own      []RankedQuestion // have an answer there
	TakenOut []RankedQuestion // are the same without it
	Foreign  []RankedQuestion // are of other domains
}

// Confident are all of them, with the chance of each that its first passage answers.
func (q *PriorQuestions) Confident(chances fusion.Chances) (all []RankedQuestion, confidences []float64, err error) {
	all = slices.Concat(q.Own, q.TakenOut, q.Foreign)
	for _, a := range all {
		sure, err := chances.Of(a.Signals, 1)
		if err != nil {
			return nil, nil, err
		}
		confidences = append(confidences, sure)
	}
	return all, confidences, nil
}

// weighted are all of them: every domain counts the same, as so many questions as
// it has on average, half of them with an answer.
func (q *PriorQuestions) weighted(size float64) (all []RankedQuestion) {
	for _, part := range []struct {
		questions []RankedQuestion
		share     float64
	}{{q.Own, .5}, {q.TakenOut, .25}, {q.Foreign, .25}} {
		for _, x := range part.questions {
			x.Weight = size * part.share / float64(len(part.questions))
			all = append(all, x)
		}
	}
	return all
}

// PriorQuestions answers the questions by a gate: those of the collection's domain, the
// same without the passages that answer, and the unanswerable ones, which are of other
// domains.
func (e *Evidence) PriorQuestions(domain string, gate *fusion.Gate, specialists int) (PriorQuestions, error) {
	out := PriorQuestions{Domain: domain}
	if gate == nil || len(e.Questions) == 0 || !slices.ContainsFunc(e.Questions[0].Sources, func(s fusion.Observed) bool { return s.Kind == fusion.Late }) {
		return out, errors.New("it is not searched by the shipped gate with late interaction: index it with the default experts")
	}
	gates := slices.Repeat([]fusion.Gate{*gate}, Folds)
	answers, err := AnswerByFold(gates, e.Questions, specialists)
	if err != nil {
		return out, err
	}
	all, err := RankAnswers(e.Questions, answers, gates, specialists)
	if err != nil {
		return out, err
	}
	out.Own, out.TakenOut = all[:len(e.Questions)], all[len(e.Questions):]
	answers, err = AnswerByFold(gates, e.Unanswerable, specialists)
	for i, a := range answers {
		out.Foreign = append(out.Foreign, RankedQuestion{ID: e.Unanswerable[i].ID, Signals: a.Signals, Asked: &e.Unanswerable[i], Passages: a.Passages})
	}
	return out, err
}

// worstPrior is the highest calibration error on left-out domains with which a prior is
// shipped.
const worstPrior = .1

// Shippable is an error where a prior's error, on all domains, is too high to ship it.
func (d *PriorDomain) Shippable() error {
	if d.ECE > worstPrior {
		return fmt.Errorf("the ECE on domains that were left out is %.3f, above %.2f: such a confidence is not to be shipped", d.ECE, worstPrior)
	}
	return nil
}

// FitPrior fits the chances for the first so many passages, and measures those of the
// first one on each domain by the fit to the others; all is that of the domains
// together.
func FitPrior(domains []PriorQuestions) (p Prior, all PriorDomain, err error) {
	p = Prior{Signals: fusion.SignalNames()}
	size := 0.0
	for _, d := range domains {
		if len(d.Own) == 0 || len(d.TakenOut) == 0 || len(d.Foreign) == 0 {
			return p, all, fmt.Errorf("domain %s has %d questions of its own, %d without their answers and %d of other domains: all three are needed", d.Domain, len(d.Own), len(d.TakenOut), len(d.Foreign))
		}
		size += 2 * float64(len(d.Own)) / float64(len(domains))
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
		for _, q := range d.weighted(1) {
			odds, err := l.LogOdds(q.Signals)
			if err != nil {
				return p, all, err
			}
			own = append(own, Outcome{sigmoid(odds), q.answered(1), q.Weight})
		}
		p.LeftOut = append(p.LeftOut, priorDomain(d.Domain, len(d.Own), own))
		outcomes = append(outcomes, own...)
		all.Questions += len(d.Own)
	}
	return p, priorDomain("all", all.Questions, outcomes), nil
}

func priorDomain(name string, n int, outcomes []Outcome) PriorDomain {
	area, some := AUROC(outcomes)
	if !some {
		area = .5
	}
	return PriorDomain{Domain: name, Questions: n, ECE: ECE(outcomes), AUROC: area}
}

// fitPrior fits to all domains but one, about a chance of a half whatever the signals.
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
		for _, q := range domains[i].weighted(size) {
			outcomes = append(outcomes, signalOutcome{Signals: q.Signals, Correct: q.answered(k), Weight: q.Weight})
		}
	}
	return fitLogistic(names, outcomes, &nothing)
}
