package answering

import (
	"sync"

	"example.org/conclave/fusion"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/learned"
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
	AnswerBytes     int                    // the greatest size of an answer
	Words           *content.Words         // which words of a text carry meaning in the collection
	Tables          *sync.Pool             // of *fusion.Candidates
}

// judgesAnswers reports whether the gate's answers get a confidence or a verdict: chances or answerability were fitted.
func (r *Rules) judgesAnswers() bool { return r.Chances != nil || r.Answerability != nil }
