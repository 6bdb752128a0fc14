package search

import (
	"context"
	"fmt"

	"conclave/fusion"
)

// Chances turn what is known of a gated answer (fusion.Signals) into the
// chance that any of its first k passages answers, as calibrated.
type Chances interface {
	Of(signals []float64, k int) (float64, error)
}

// Whence a confidence comes.
const (
	BasisCalibrated = "calibrated" // from questions of this collection
	BasisShipped    = "shipped"    // from those of other collections
)

// answerChances fills in the confidences of a gated ranking.
func (a *answer) answerChances(r *fusion.Ranking, observed []fusion.Observed) error {
	c, k := a.engine.defaults.Chances, a.plan.k
	if c == nil || len(r.Items) == 0 || !a.engine.defaults.asFitted(observed) {
		return nil
	}
	known, _ := a.engine.knownWords(a.plan.question)
	signals := fusion.Signals(a.table, observed, *r, known)
	first, err := c.Of(signals, 1)
	if err != nil {
		return fmt.Errorf("the confidence of the answer: %w", err)
	}
	r.Confidence = &first
	if k > 1 {
		if any, err := c.Of(signals, k); err == nil {
			r.Any = &any
		}
	}
	return nil
}

// Chance turns what is known of one source's hits (fusion.SourceSignals) into
// the chance that the first of them answers, as calibrated.
type Chance interface {
	Of(signals []float64) (float64, error)
}

// chanceOf is the calibrated chance of a source; nil where there is none.
func (e *lineUp) chanceOf(p *plan, source int) Chance {
	switch source {
	case p.wordsAt():
		return e.defaults.WordsChance
	case p.phrasesAt(), p.lateAt():
		return nil
	}
	return e.experts[p.experts[source]].Chance
}

// sourceChances are the chances that the sources' own first hits answer, by
// finding; nil where one is not calibrated, or where what it is read from was
// not asked for: words, and how familiar the question is.
func (a *answer) sourceChances(ctx context.Context) []*float64 {
	chances := make([]*float64, len(a.findings))
	e := a.engine
	_, lexical := a.answering()
	calibrated := false
	for source := range a.findings {
		calibrated = calibrated || e.chanceOf(a.plan, source) != nil
	}
	if !calibrated || lexical < 0 || e.referenceExpert >= 0 && !a.knowsReference() {
		return chances
	}
	observed := a.observe(ctx)
	features := fusion.FeaturesOf(a.table, observed)
	for at, o := range observed {
		chance := e.chanceOf(a.plan, o.Column)
		signals := fusion.SourceSignals(a.table, observed, features, at)
		if chance == nil || signals == nil {
			continue
		}
		if x, err := chance.Of(signals); err == nil { // an error says that it was calibrated as another kind of source
			chances[o.Column] = ptr(printed(x))
		}
	}
	return chances
}

// abstains reports whether the request wants no answer at this confidence.
func (p *plan) abstains(confidence *float64) bool {
	return p.minConfidence > 0 && (confidence == nil || *confidence < p.minConfidence)
}
