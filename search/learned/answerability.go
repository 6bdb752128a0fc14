package learned

import "example.org/conclave/search/reply"

// Answerability gives the probability that the collection answers the question at all, and the thresholds for a verdict
// on it. It was fitted on questions of which half are about something that the collection does not have.
type Answerability struct {
	Chance Chance
	reply.Thresholds
}

// ForeignFits are what was fitted for answers by an encoder of its own (Expert.Foreign) and words.
type ForeignFits struct {
	Late          bool    // with late interaction by its states
	Chances       Chances // of the gate's first passages
	ChancesBasis  string  // reply.BasisShipped, or reply.BasisCalibrated: Chances were fitted to the collection
	Answerability Answerability
	// Unspaced are, by language, the fits for languages that are written without spaces; one that is not there has none.
	Unspaced map[string]*Answerability
}

// Chances computes calibrated probabilities of an answer from signals.
type Chances interface {
	// Of returns the probability that one of the first k passages answers. It fails for signals, or for a k, that it was
	// not fitted for.
	Of(signals []float64, k int) (float64, error)
}
