package learned

import "example.org/conclave/search/reply"

// Answerability turns what is known of an answer into the chance that the collection answers
// the question at all, where half of the questions are about something else, and into a
// verdict.
type Answerability struct {
	Chance Chance
	reply.Thresholds
}
