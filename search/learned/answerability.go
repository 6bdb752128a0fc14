package learned

import "example.org/conclave/search/reply"

// Answerability gives the probability that the collection answers the question at all, and the thresholds for a verdict
// on it. It was fitted on questions of which half are about something that the collection does not have.
type Answerability struct {
	Chance Chance
	reply.Thresholds
}
