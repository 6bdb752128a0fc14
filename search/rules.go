package search

import (
	"sync"

	"example.org/conclave/fusion"
	"example.org/conclave/search/internal/content"
)

// rules say how the findings of any question are made an answer: what was fitted for the collection, and the limits.
type rules struct {
	alpha           float64 // BM25's weight in the hybrid
	sharpness       float64 // the power of the experts' confidences
	cce             fusion.CCEOptions
	gate            *fusion.Gate   // nil: there is none
	gateWithoutLate *fusion.Gate   // in place of gate where late interaction takes no part; nil: gate
	chances         fusion.Chances // nil: confidences are not calibrated
	chancesBasis    string
	answerability   *Answerability // nil: there are no verdicts
	answerBytes     int            // of an answer at most
	words           *content.Words // of the corpus
	tables          *sync.Pool     // of *fusion.Candidates
}

// judges reports whether something was fitted that says how good the gate's answers are.
func (r *rules) judges() bool { return r.chances != nil || r.answerability != nil }

// rulesOf returns the rules of a line-up with these defaults.
func rulesOf(d *Defaults, l Limits, words *content.Words, tables *sync.Pool) rules {
	return rules{
		alpha: d.Alpha, sharpness: d.Sharpness, cce: d.CCE, gate: d.Gate, gateWithoutLate: d.GateWithoutLate,
		chances: d.Chances, chancesBasis: d.ChancesBasis, answerability: d.Answerability,
		answerBytes: l.AnswerBytes, words: words, tables: tables,
	}
}
