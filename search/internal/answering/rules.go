package answering

import (
	"sync"

	"example.org/conclave/fusion"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/learned"
)

// Rules say how the findings of any question are made an answer: what was fitted for the collection, and the limits.
type Rules struct {
	Alpha           float64 // BM25's weight in the hybrid
	Sharpness       float64 // the power of the experts' confidences
	CCE             fusion.CCEOptions
	Gate            *fusion.Gate   // nil: there is none
	GateWithoutLate *fusion.Gate   // in place of gate where late interaction takes no part; nil: gate
	Chances         fusion.Chances // nil: confidences are not calibrated
	ChancesBasis    string
	Answerability   *learned.Answerability // nil: there are no verdicts
	AnswerBytes     int                    // of an answer at most
	Words           *content.Words         // of the corpus
	Tables          *sync.Pool             // of *fusion.Candidates
}

// judges reports whether something was fitted that says how good the gate's answers are.
func (r *Rules) judges() bool { return r.Chances != nil || r.Answerability != nil }
