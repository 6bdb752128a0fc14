// Package answering makes an answer of what the sources found. Findings become Candidates, with a score of every source
// for each passage, Candidates a Ranking by each method, and a Ranking an Answer, which models may rerank, mark the
// words in that answer, and write from. Each of the three has the one before it.
package answering

import (
	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/reply"
)

// Ranking is the candidates in the order of each method of the plan.
type Ranking struct {
	*Candidates
	Rankings []fusion.Ranking                  // of each method
	Asked    string                            // the question as models that read passages get it
	Credits  map[Credited][]reply.Contribution // what is no source's contribution to the rankings
	Keyless  error                             // what the first passage holds of the question's keys could not be read
}

// Answer is a ranking that was cut to the page that is answered, and what models said of its passages.
type Answer struct {
	*Ranking
	ToRead   []fusion.Item    // what a reader reads
	Extracts []reply.Extract  // what it marked
	Unread   int              // passages that it read the beginning of alone
	Misnamed bool             // the question names what the first passages do not
	Notes    []string         // of a reranker
	Room     int              // bytes that the response takes in memory while it is made
	read     []corpus.Passage // that the reader read
	heads    [][]fusion.Item  // the first comparedNames passages of each ranking, whichever are answered
	byReader bool             // the reader said whether there is an answer
	bytes    int              // of the response, about
}

// NewAnswer returns the answer of a ranking, before any model has read its passages. It cuts each ranking to the page
// that is answered, and computes the memory that the response takes (CutToLimits), whose error it returns.
func NewAnswer(r *Ranking) (*Answer, error) {
	a := &Answer{Ranking: r}
	return a, a.CutToLimits()
}
