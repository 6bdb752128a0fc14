package answering

import (
	"sync"

	"example.org/conclave/fusion"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// Rules are the calibration of a collection and the limits by which findings become an answer. They are the same for
// all questions to a line-up.
type Rules struct {
	Alpha           float64 // BM25's weight in the hybrid
	Sharpness       float64 // the power to which the experts' confidences are raised
	CCE             fusion.CCEOptions
	Gate            *fusion.Gate   // nil: there is none
	GateWithoutLate *fusion.Gate   // the gate if late interaction takes no part; nil: Gate
	Chances         fusion.Chances // nil: confidences are not calibrated
	ChancesBasis    string
	Answerability   *learned.Answerability // nil: there are no verdicts
	Foreign         *learned.ForeignFits   // nil: there are none
	AnswerBytes     int                    // the greatest size of an answer
	Words           *content.Words         // which words of a text carry meaning in the collection
	Tables          *sync.Pool             // of *fusion.Candidates
}

// judgesAnswers reports whether the gate's answers may get a confidence or a verdict: chances, answerability or the
// fits of Foreign are there.
func (r *Rules) judgesAnswers() bool {
	return r.Chances != nil || r.Answerability != nil || r.Foreign != nil
}

// onlyForeign reports whether the sources that answered are those of Rules.Foreign, and the question is in a language
// of the collection: passages in another one have other words, so that what was fitted does not hold.
func (c *Candidates) onlyForeign() bool { return c.byForeign() && c.Found.OwnLanguage() }

// byForeign reports whether the sources that answered are those of Rules.Foreign.
func (c *Candidates) byForeign() bool {
	foreign, late := fusion.ForeignCloseness(c.seen)
	return c.Rules.Foreign != nil && foreign && late == c.Rules.Foreign.Late
}

// isUnjudged reports whether nothing was fitted by which the answer could be said to be found: the sources are those of
// Rules.Foreign, and the question is in another language than the passages, or in one without a fit.
func (c *Candidates) isUnjudged() bool {
	return c.byForeign() && c.answerability() == nil && c.Found.KnowsLanguages()
}

// isUnfitted reports whether Rules.Chances were fitted without the sources that answered: these are those of
// Rules.Foreign, and a collection was calibrated by others.
func (c *Candidates) isUnfitted() bool {
	return c.byForeign() && c.Rules.Foreign.ChancesBasis == reply.BasisShipped
}

// ChancesBasis returns where the confidences of the gate's answers come from: reply.BasisShipped or
// reply.BasisCalibrated.
func (c *Candidates) ChancesBasis() string {
	if c.onlyForeign() {
		return c.Rules.Foreign.ChancesBasis
	}
	return c.Rules.ChancesBasis
}

// answerability returns how the verdict is computed for the sources that answered; nil: nothing was fitted for them.
func (c *Candidates) answerability() *learned.Answerability {
	switch {
	case !c.byForeign() || !c.Found.KnowsLanguages():
		return c.Rules.Answerability
	case !c.Found.OwnLanguage():
		return nil
	case !c.Found.HasFunctionWords():
		return c.Rules.Foreign.Unspaced[c.Found.Language()]
	}
	return &c.Rules.Foreign.Answerability
}
