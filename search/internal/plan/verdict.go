package plan

import (
	"example.org/conclave/search/internal/sources"
)

// Verdict says whether a collection answers a question.
type Verdict string

const VerdictFound Verdict = "found"

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

// The verdicts.
const (
	VerdictDoubtful Verdict = "doubtful"
	VerdictNotFound Verdict = "not_found"
)
