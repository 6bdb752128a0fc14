package calibration

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"example.org/conclave/internal/rank"
)

// Shape names the function that turns log-odds of signals into a chance: Platt's or an isotonic one.
type Shape string

// The shapes. With several signals, both begin with the same logistic function.
const (
	Platt         Shape = "platt"    // a logistic function of the signals
	IsotonicShape Shape = "isotonic" // a never falling function of the logistic one's log-odds
)

// RankedQuestion is a question with its answer: its signals and the rank of the first passage that answers.
type RankedQuestion struct {
	ID string
	// the signals of the answer (fusion.SignalNames), always in the same order
	Signals []float64
	// First is the rank, from 1, of the first passage that answers; 0: none.
	First   int
	Without Without
	// Weight is how many questions it counts for; 0: one.
	Weight float64
	// Asked is the question, and Passages are the first of its answer, for a reader and a reranker.
	Asked    *Question
	Passages []rank.Hit
}

// Confidence gives the chance that any of an answer's first K passages answers, from the signals of a fused answer.
type Confidence struct {
	K        int       `json:"k" yaml:"k"`
	Kind     Shape     `json:"kind" yaml:"kind"`
	Logistic Logistic  `json:"logistic" yaml:"logistic"`
	Isotonic *Isotonic `json:"isotonic,omitempty" yaml:"isotonic,omitempty"` // nil for Platt
	Reason   string    `json:"reason,omitempty" yaml:"reason,omitempty"`     // why this kind
}

// Of returns the chance for these signals. It fails if there are not as many as were fitted, or one is not finite.
func (c *Confidence) Of(signals []float64) (float64, error) {
	odds, err := c.Logistic.LogOdds(signals)
	if err != nil {
		return 0, err
	}
	if c.Isotonic != nil {
		return c.Isotonic.Of(odds), nil
	}
	return sigmoid(odds), nil
}

// Validate returns an error if a confidence that was read from a file cannot be used: K is below 1, the kind is unknown
// or its function is missing, or a number is not finite.
func (c *Confidence) Validate() error {
	switch {
	case c.K < 1:
		return fmt.Errorf("k: %d; it must be at least 1", c.K)
	case c.Kind != Platt && c.Kind != IsotonicShape:
		return fmt.Errorf("kind: %q is unknown: %q and %q are known", c.Kind, Platt, IsotonicShape)
	case (c.Kind == IsotonicShape) != (c.Isotonic != nil):
		return fmt.Errorf("kind: %q, and the isotonic function is %v", c.Kind, c.Isotonic)
	}
	numbers := []float64{c.Logistic.Intercept}
	for _, t := range c.Logistic.Signals {
		numbers = append(numbers, t.Coefficient)
	}
	for _, x := range numbers {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("logistic: %v is not a number to count with", x)
		}
	}
	if c.Isotonic != nil {
		return c.Isotonic.Validate()
	}
	return nil
}

// Chances are confidences for several numbers of passages (K), ascending.
type Chances []Confidence

// Of returns the chance that any of the first k passages answers: the highest of those calibrated for k or fewer, since
// more passages cannot answer less. It fails if none is calibrated for k or fewer, or if the signals are not those that
// were fitted.
func (c Chances) Of(signals []float64, k int) (float64, error) {
	chance, known := 0.0, false
	for i := range c {
		if c[i].K > k {
			continue
		}
		x, err := c[i].Of(signals)
		if err != nil {
			return 0, err
		}
		chance = max(chance, x)
		known = true
	}
	if !known {
		return 0, fmt.Errorf("no confidence is calibrated for the first %d passages", k)
	}
	return chance, nil
}

// ConfidenceFit is a calibrated confidence with what was measured.
type ConfidenceFit struct {
	Confidence Confidence // of the chosen kind, fitted on all questions
	// HeldOut is the chosen kind, fitted on other questions than those it is
	// measured on; Outcomes are the same, in the order of the questions, without nonsense.
	HeldOut  Summary
	Outcomes []Outcome
}

// enoughForSteps is the least number of answers for an isotonic function. With fewer it
// overfits (Niculescu-Mizil and Caruana, 2005).
const enoughForSteps = 1000

// FitConfidence calibrates the chance that any of the first k passages answers, by an isotonic function and by Platt's,
// about a prior (nil: none). It chooses by the Brier score on held-out questions: the isotonic function if it is better
// by more than two standard errors of the paired difference and there are enough questions, else Platt's, which gives
// different answers different confidences, is never certain, and has few parameters. Confidence.Reason has the choice
// and the figures.
//
// names are those of the signals, in their order. Questions that are not measured (Without) count for the fit alone. It
// fails if k is below 1, there are no questions, or a signal is not a number.
func FitConfidence(names []string, questions []RankedQuestion, k int, prior *Logistic) (ConfidenceFit, error) {
	var fit ConfidenceFit
	if k < 1 {
		return fit, fmt.Errorf("k is %d: it must be at least 1", k)
	}
	if len(questions) == 0 {
		return fit, fmt.Errorf("there are no questions to calibrate a confidence on")
	}
	type both struct{ platt, isotonic Confidence }
	train := func(questions []RankedQuestion) (both, error) {
		platt, isotonic, err := fitBoth(names, questions, k, prior)
		return both{platt, isotonic}, err
	}
	final, err := train(questions)
	if err != nil {
		return fit, err
	}
	pairs, err := crossFit(questions, func(q *RankedQuestion) string { return q.ID }, train,
		func(b both, q *RankedQuestion) (pair [2]Outcome, err error) {
			for i, c := range []Confidence{b.platt, b.isotonic} {
				pair[i].Correct = q.answeredWithin(k)
				pair[i].Weight = q.Weight
				pair[i].Confidence, err = c.Of(q.Signals)
				if err != nil {
					return pair, err
				}
			}
			return pair, nil
		})
	if err != nil {
		return fit, err
	}
	var platt, isotonic []Outcome
	for i, pair := range pairs {
		if questions[i].Without.isMeasured() {
			platt, isotonic = append(platt, pair[0]), append(isotonic, pair[1])
		}
	}
	byPlatt, byIsotonic := Summarise(platt), Summarise(isotonic)
	gain, deviation := pairedGain(platt, isotonic)
	fit.Confidence = final.platt
	fit.HeldOut = byPlatt
	fit.Outcomes = platt
	because := "that is within two standard errors, so the smooth function of few numbers, which keeps different answers apart, is taken"
	if gain > 2*deviation && len(platt) >= enoughForSteps {
		fit.Confidence = final.isotonic
		fit.HeldOut = byIsotonic
		fit.Outcomes = isotonic
		because = "that is more than two standard errors, so the shape is not a logistic one"
	} else if gain > 2*deviation {
		because = fmt.Sprintf("that is more than two standard errors, but with fewer than %d questions steps follow chance",
			enoughForSteps)
	} else if gain < -2*deviation {
		because = "that is more than two standard errors the worse"
	}
	fit.Confidence.Reason = fmt.Sprintf(
		"On %d held-out questions the Brier score is %.4f with Platt's scaling and %.4f with isotonic regression (ECE %.4f and %.4f); the second is lower by %.4f with a standard error of %.4f: %s.",
		len(platt), byPlatt.Brier, byIsotonic.Brier, byPlatt.ECE, byIsotonic.ECE, gain, deviation, because,
	)
	return fit, nil
}

// answeredWithin reports whether any of the first k passages answers.
func (q *RankedQuestion) answeredWithin(k int) bool { return q.First > 0 && q.First <= k }

// outcomeWithin returns the question's signals, and whether any of the first k passages answers.
func (q *RankedQuestion) outcomeWithin(k int) signalOutcome {
	return signalOutcome{
		Signals:   q.Signals,
		Correct:   q.answeredWithin(k),
		Weight:    q.Weight,
		Generated: q.Without == There || q.Without == Absent,
	}
}

// fitBoth fits the chance that any of the first k passages answers, in two forms: Platt's logistic function of the
// signals, and an isotonic function of that function's log-odds. names are those of the signals, in their order; prior
// pulls the coefficients towards its own, nil does not. It fails without questions, for a signal that is not finite,
// for a prior of other signals, and if the fit does not converge.
func fitBoth(
	names []string,
	questions []RankedQuestion,
	k int,
	prior *Logistic,
) (platt, isotonic Confidence, err error) {
	outcomes := make([]signalOutcome, len(questions))
	for i, q := range questions {
		outcomes[i] = q.outcomeWithin(k)
	}
	logistic, err := fitExact(names, outcomes, prior)
	if err != nil {
		return platt, isotonic, err
	}
	scored := make([]scoredOutcome, len(outcomes))
	for i, o := range outcomes {
		odds, err := logistic.LogOdds(o.Signals)
		if err != nil {
			return platt, isotonic, err
		}
		scored[i] = scoredOutcome{Score: odds, Correct: o.Correct, Weight: o.Weight}
	}
	steps, err := fitIsotonic(scored)
	platt = Confidence{K: k, Kind: Platt, Logistic: logistic}
	isotonic = Confidence{K: k, Kind: IsotonicShape, Logistic: logistic, Isotonic: &steps}
	return platt, isotonic, err
}

// pairedGain returns how much lower b's Brier score is than a's on the same questions, and
// the standard error of that difference.
func pairedGain(a, b []Outcome) (gain, deviation float64) {
	n := float64(len(a))
	all := 0.0
	for i := range a {
		gain += a[i].weightOf() * (brierScore(a[i]) - brierScore(b[i]))
		all += a[i].weightOf()
	}
	gain /= all
	for i := range a {
		gap := a[i].weightOf() * (brierScore(a[i]) - brierScore(b[i]) - gain)
		deviation += gap * gap
	}
	return gain, math.Sqrt(deviation*n/max(n-1, 1)) / all
}

// Isotonic is a non-decreasing function from a score to a chance. It is constant on each
// step and linear between two.
type Isotonic struct {
	Steps []Step `json:"steps" yaml:"steps"`
}

// Step is a range of scores that share a chance.
type Step struct {
	From   float64 `json:"from" yaml:"from"`
	To     float64 `json:"to" yaml:"to"`
	Chance float64 `json:"chance" yaml:"chance"`
}

// scoredOutcome is a score on any scale, and whether the answer was right.
type scoredOutcome struct {
	Score   float64
	Correct bool
	Weight  float64 // how many outcomes it counts for; 0: one
}

// fitIsotonic returns the non-decreasing function with the least squared error, by pooling adjacent violators (Ayer et
// al., 1955; for chances: Zadrozny and Elkan, 2002). Equal scores get one chance. It fails without outcomes, and for a
// score that is not finite.
func fitIsotonic(outcomes []scoredOutcome) (Isotonic, error) {
	if len(outcomes) == 0 {
		return Isotonic{}, fmt.Errorf("there are no outcomes to fit on")
	}
	sorted := slices.Clone(outcomes)
	slices.SortFunc(sorted, func(a, b scoredOutcome) int { return cmp.Compare(a.Score, b.Score) })
	type block struct{ from, to, correct, size float64 }
	var blocks []block
	for _, o := range sorted {
		if math.IsNaN(o.Score) || math.IsInf(o.Score, 0) {
			return Isotonic{}, fmt.Errorf("a score is %v", o.Score)
		}
		weight := weightOr1(o.Weight)
		b := block{
			from: o.Score, to: o.Score, size: weight, correct: weight * Outcome{Correct: o.Correct}.correctValue(),
		}
		if n := len(blocks); n > 0 && blocks[n-1].from == o.Score {
			blocks[n-1].correct += b.correct
			blocks[n-1].size += b.size
			continue
		}
		blocks = append(blocks, b)
	}
	kept := blocks[:0]
	for _, b := range blocks {
		// Products of whole numbers, so that equal chances are seen as equal.
		for len(kept) > 0 && kept[len(kept)-1].correct*b.size >= b.correct*kept[len(kept)-1].size {
			last := kept[len(kept)-1]
			b = block{from: last.from, to: b.to, correct: last.correct + b.correct, size: last.size + b.size}
			kept = kept[:len(kept)-1]
		}
		kept = append(kept, b)
	}
	f := Isotonic{Steps: make([]Step, len(kept))}
	for i, b := range kept {
		f.Steps[i] = Step{From: b.from, To: b.to, Chance: b.correct / b.size}
	}
	return f, nil
}

// Of returns the chance at a score. Within a step it is the step's chance, between two steps it is interpolated
// linearly, and beyond the ends it is that of the end. Without steps it is 0.
func (f Isotonic) Of(score float64) float64 {
	next, _ := slices.BinarySearchFunc(f.Steps, score, func(s Step, score float64) int { return cmp.Compare(s.To, score) })
	switch {
	case len(f.Steps) == 0:
		return 0
	case next == len(f.Steps):
		return f.Steps[next-1].Chance
	case next == 0 || f.Steps[next].From <= score:
		return f.Steps[next].Chance
	}
	below, above := f.Steps[next-1], f.Steps[next]
	part := (score - below.To) / (above.From - below.To)
	return below.Chance + part*(above.Chance-below.Chance)
}

// Validate returns an error unless the steps ascend and the chances are from 0 to 1.
func (f Isotonic) Validate() error {
	if len(f.Steps) == 0 {
		return fmt.Errorf("the isotonic function has no steps")
	}
	for i, s := range f.Steps {
		switch {
		case !(s.From <= s.To) || math.IsInf(s.From, 0) || math.IsInf(s.To, 0):
			return fmt.Errorf("step %d is from %v to %v", i+1, s.From, s.To)
		case !(s.Chance >= 0 && s.Chance <= 1):
			return fmt.Errorf("the chance of step %d is %v", i+1, s.Chance)
		case i > 0 && (s.From <= f.Steps[i-1].To || s.Chance < f.Steps[i-1].Chance):
			return fmt.Errorf("step %d does not rise above step %d", i+1, i)
		}
	}
	return nil
}
