package search

import (
	"fmt"

	"conclave/fusion"
)

// Chances turn what is known of a gated answer (fusion.Signals) into the
// chance that any of its first k passages answers, as calibrated.
type Chances interface {
	Of(signals []float64, k int) (float64, error)
}

// chances fills in the confidences of a gated ranking.
func (a *answer) chances(r *fusion.Ranking, observed []fusion.Observed, k int) error {
	c := a.engine.defaults.Chances
	if c == nil || len(r.Items) == 0 {
		return nil
	}
	signals := fusion.Signals(a.table, observed, *r)
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

// abstains reports whether the request wants no answer at this confidence.
func (p *plan) abstains(confidence *float64) bool {
	return p.minConfidence > 0 && (confidence == nil || *confidence < p.minConfidence)
}
