package search

import (
	"fmt"

	"example.org/conclave/fusion"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/sources"
)

// Verdict says whether a collection answers a question.
type Verdict string

// The verdicts.
const (
	VerdictFound    Verdict = "found"
	VerdictDoubtful Verdict = "doubtful"
	VerdictNotFound Verdict = "not_found"
)

// Thresholds are the chances that the collection answers at all from which a verdict is
// VerdictFound, and from which it is VerdictDoubtful; below it is VerdictNotFound.
type Thresholds struct {
	Found    float64 `json:"found"    yaml:"found"`
	Doubtful float64 `json:"doubtful" yaml:"doubtful"`
}

// Of returns the verdict at a chance.
func (t Thresholds) Of(chance float64) Verdict {
	switch {
	case chance >= t.Found:
		return VerdictFound
	case chance >= t.Doubtful:
		return VerdictDoubtful
	}
	return VerdictNotFound
}

// Answerability turns what is known of an answer into the chance that the collection answers
// the question at all, where half of the questions are about something else, and into a
// verdict.
type Answerability struct {
	Chance sources.Chance
	Thresholds
}

// Judged are the verdict of an answer and the numbers that it was reached by.
type Judged struct {
	// Verdict is "" where the chance is not known, and a note then says why.
	Verdict Verdict `json:"verdict,omitempty"`
	// Answerable is the chance that was compared with the thresholds; nil where nothing was
	// found at all, which needs no chance.
	Answerable *float64    `json:"answerable,omitempty"`
	Thresholds *Thresholds `json:"verdict_thresholds,omitempty"`
}

// judged returns the verdict of a ranking with a chance, which may be nil.
func (a *answer) judged(chance *float64) (j Judged) {
	by := a.rules.answerability
	if a.byReader {
		by = a.plan.reader.Answerability
	}
	switch {
	case a.table.Len() == 0:
		j.Verdict = VerdictNotFound
	case by != nil && chance != nil:
		j.Answerable = run.PrintedOf(chance)
		j.Thresholds = &by.Thresholds
		j.Verdict = by.Of(*j.Answerable)
	}
	return j
}

// undecided returns a note where an answer has no verdict, and another request to this collection
// would; "" elsewhere. Of a list of methods each may or may not have one.
func (a *answer) undecided() string {
	if a.rules.answerability == nil || a.plan.listed || a.rankings[0].Answerable != nil || a.table.Len() == 0 {
		return ""
	}
	if m := a.plan.methods[0]; !m.WeighsByQuestion() {
		return fmt.Sprintf("there is no verdict: fusion method %q gives none, and %s does", m.asked, fusion.MethodGate)
	}
	return "there is no verdict: it is read from the base, words and late interaction, and one of them took no part"
}
