package ablation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/conclave/calibration"
	"example.org/conclave/fusion"
)

// TrialOptions are the sources with a part of their own, and the trials to make.
type TrialOptions struct {
	// Gate is what gates are fitted with.
	Gate calibration.GateOptions
	// Prior is the shipped confidence, which few questions leave as it is; nil: none.
	Prior *calibration.Prior
	// Base is the encoder that people would use in place of the experts. Joint is the
	// one that was trained on all domains at once: an alternative, and in one trial a
	// source of the gate. Either may be missing.
	Base, Joint string
	// Foreign are experts that are made out-of-domain: the questions of their domains
	// are left out.
	Foreign []string
	// HeldOut are experts with a domain of the same name. Each is added in one trial,
	// to a gate that was fitted without it and without its questions.
	HeldOut []string
	// Only are the names of the trials to make (Trials); none: all. The gate
	// itself is always there.
	Only []string
	// Progress is told of every trial.
	Progress func(done, total int)
}

// Findings are the results of all trials.
type Findings struct {
	Questions int `json:"questions"`
	// Yardsticks begins with the gate over all sources but the joint expert.
	Yardsticks []Row `json:"yardsticks"`
	// Without is the gate without one source at a time.
	Without []Row `json:"without"`
	// Specialists is how many of them the gate asks, the most familiar with each
	// question; 0: all. So it is everywhere but in Familiar.
	Specialists int `json:"specialists"`
	// Familiar is the gate over fewer and over more of them.
	Familiar []Row     `json:"familiar"`
	Foreign  *Foreign  `json:"foreign,omitempty"`
	HeldOut  []HeldOut `json:"held_out,omitempty"`
	Few      []Few     `json:"few,omitempty"`
	// Oracles know what answers: over the experts alone, the one of the question's domain, and the weights that
	// Bayesian optimisation found for each question.
	Oracles []Row `json:"oracles,omitempty"`
}

// Foreign is the cost of out-of-domain experts: each pair is without them and with them. The gate was fitted without
// them in both.
type Foreign struct {
	Experts   []string `json:"experts"`
	Questions int      `json:"questions"`
	Gate      [2]Row   `json:"gate"`
	// Fixed is the mean of the experts with the best fixed weight of BM25.
	Fixed [2]Row `json:"fixed"`
	// Mean is the mean of the experts without BM25.
	Mean [2]Row `json:"mean"`
}

// HeldOut is the contribution of an expert that is added: each pair is without it and with it.
type HeldOut struct {
	Expert string `json:"expert"`
	Own    [2]Row `json:"own"`    // the questions of its domain
	Others [2]Row `json:"others"` // all others
}

// Trials returns the names of all trials that TrialOptions.Only may have.
func Trials() []string {
	return []string{"yardsticks", "without", "familiar", "foreign", "held-out", "few", "oracles"}
}

// Check returns an error if Only names a trial that does not exist, or an option an expert that is not among experts,
// those of the collection.
func (o *TrialOptions) Check(experts []string) error {
	for _, name := range o.Only {
		if !slices.Contains(Trials(), name) {
			return fmt.Errorf("there is no trial %q; %s are possible", name, strings.Join(Trials(), ", "))
		}
	}
	for _, name := range slices.Concat([]string{o.Base, o.Joint}, o.Foreign, o.HeldOut) {
		if name != "" && !slices.Contains(experts, name) {
			return fmt.Errorf("there is no expert %q here: %s search this collection", name, strings.Join(experts, ", "))
		}
	}
	return nil
}

// trial makes one trial and adds its result to r.
type trial func(ctx context.Context, r *Findings) error

// trialRun is the state of the trials.
type trialRun struct {
	whole *evidence
	e     *evidence // without the joint expert
	o     TrialOptions
}

// Run makes the trials and returns their results. Most need a cross-fitted gate, which takes minutes in all. It fits
// the temperatures of found in place. It fails without questions or experts, at the first trial that fails, and if
// ctx ends.
func Run(ctx context.Context, found *calibration.Evidence, o TrialOptions) (*Findings, error) {
	if len(found.Questions) == 0 {
		return nil, errors.New("there are no questions")
	}
	if !slices.ContainsFunc(found.Questions[0].Sources, func(s fusion.ObservedSource) bool { return s.Kind.Dense() }) {
		return nil, errors.New("there is one source here: nothing can be left out")
	}
	if _, err := found.FitTemperatures(ctx); err != nil {
		return nil, err
	}
	e := &evidence{*found, o.Gate}
	own, err := e.restrictTo(allBut(o.Joint), nil)
	if err != nil {
		return nil, err
	}
	t := trialRun{whole: e, e: own, o: o}
	all := []trial{t.measureGate}
	for i, more := range []func() []trial{
		t.yardstickTrials, t.trialsWithoutOne, t.familiarTrials, t.foreignTrials, t.heldOut, t.fewTrials, t.oracleTrials,
	} {
		if len(o.Only) == 0 || slices.Contains(o.Only, Trials()[i]) {
			all = append(all, more()...)
		}
	}
	r := &Findings{Questions: len(e.Questions), Specialists: o.Gate.Specialists}
	for i, try := range all {
		if err := try(ctx, r); err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress(i+1, len(all))
		}
	}
	return r, nil
}

// specialistNames returns the names of the experts with a domain.
func (t *trialRun) specialistNames() []string { return t.namesOf(fusion.Specialist) }

// namesOf returns the names of the sources of a kind, without the joint expert; nil if there is none.
func (t *trialRun) namesOf(kind fusion.SourceKind) []string {
	var out []string
	for _, s := range t.e.Questions[0].Sources {
		if s.Kind == kind {
			out = append(out, t.e.Sources[s.Column])
		}
	}
	return out
}

// has reports whether there is a source with a name, the joint expert included; false for "".
func (t *trialRun) has(name string) bool { return name != "" && slices.Contains(t.whole.Sources, name) }

// measureGate measures the cross-fitted gate that everything else is compared with, and makes its row the only one of
// r.Yardsticks. It fails if a fit does or ctx ends.
func (t *trialRun) measureGate(ctx context.Context, r *Findings) error {
	answers, err := t.e.crossFitted(ctx)
	if err != nil {
		return err
	}
	r.Yardsticks = []Row{t.e.row("gate", answers)}
	return nil
}

// gateAmong returns the trial of the cross-fitted gate over the chosen sources of e, whose row gets this name and is
// added to the list that into returns.
func gateAmong(e *evidence, name string, choose choice, into func(*Findings) *[]Row) trial {
	return func(ctx context.Context, r *Findings) error {
		some, err := e.restrictTo(choose, nil)
		if err != nil {
			return err
		}
		answers, err := some.crossFitted(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.add(into(r), some.row(name, answers))
		return nil
	}
}

// add appends a row with its p-values against the gate's, the first of r.Yardsticks, to the list to.
func (r *Findings) add(to *[]Row, row Row) {
	row.compareTo(&r.Yardsticks[0])
	*to = append(*to, row)
}

// yardsticks returns the list of the yardsticks, for rows to be added.
func (r *Findings) yardsticks() *[]Row { return &r.Yardsticks }

// without returns the list of the gates without one source, for rows to be added.
func (r *Findings) without() *[]Row { return &r.Without }

// familiar returns the list of the gates over fewer and more specialists, for rows to be added.
func (r *Findings) familiar() *[]Row { return &r.Familiar }

// trialsWithoutOne returns the trials of the gate without one source at a time.
func (t *trialRun) trialsWithoutOne() (all []trial) {
	for _, name := range t.e.Sources {
		all = append(all, gateAmong(t.e, "without "+name, allBut(name), (*Findings).without))
	}
	return all
}

// familiarTrials returns the trials of the gate over no specialist, over the 1 to 4 most familiar with a question,
// and over all.
func (t *trialRun) familiarTrials() (all []trial) {
	specialists := t.specialistNames()
	all = append(all, gateAmong(t.e, "no specialist", allBut(specialists...), (*Findings).familiar))
	for n := 1; n < min(5, len(specialists)); n++ {
		some := *t.e
		some.gate.Specialists = n
		all = append(all, gateAmong(&some, fmt.Sprintf("the %d most familiar", n), allBut(), (*Findings).familiar))
	}
	every := *t.e
	every.gate.Specialists = 0
	return append(all, gateAmong(&every, fmt.Sprintf("all %d", len(specialists)), allBut(), (*Findings).familiar))
}
