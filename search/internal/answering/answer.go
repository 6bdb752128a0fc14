// Package answering makes an answer of what the sources found, in three steps. Findings become Candidates: every
// passage found, with a score of each source. Candidates become a Ranking for each method. A Ranking becomes an Answer:
// models may rerank it and mark the words that answer, it is cut to a page, and a generator may write a text from it.
// Each of the three embeds the one before it.
package answering

import (
	"example.org/conclave/fusion"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// Ranking is the candidates in the order of each method of the plan.
type Ranking struct {
	*Candidates
	Rankings []fusion.Ranking                   // one for each of Plan.Methods
	Asked    string                             // the question as models that read passages get it
	Credits  map[CreditKey][]reply.Contribution // contributions that are not a source's, such as a reranker's
	Keyless  error                              // why the keys of a passage could not be looked up; nil: they were
	Values   map[rank.Ordinal]conditions.Value  // of the candidates in the field that Plan.GroupBy names
	pins     []pin                              // passages that an administrator put first, in their order (FindPins)
}

// Answer is a ranking with what models said of its passages. CutToPage cuts it to the page that is answered.
type Answer struct {
	*Ranking
	ToRead     []fusion.Item    // the passages that a reader or a generator reads
	Extracts   []reply.Extract  // the answers that the reader marked
	ReadPartly int              // the number of passages of which the reader read only the beginning
	Misnamed   bool             // the question has a name that the passages behind the answer lack (LowerVerdict)
	Notes      []string         // for users, of a reranker or a reader
	Room       int              // the bytes that the response takes in memory while it is made
	read       []corpus.Passage // the passages that the reader has read
	groups     map[passageName]groupName
	heads      [][]fusion.Item        // the first comparedNames passages of each ranking, in its final order
	judgedBy   *learned.Answerability // what Answerable of the first ranking was computed by; nil: by the ranking alone
	bytes      int                    // the estimated size of the response
}

// NewAnswer returns the answer of a ranking before any model has read its passages. It computes the memory that the
// response takes, and returns CutToLimits' error. Call Rerank and MarkAnswers next, as the plan has them, and then
// CutToPage.
func NewAnswer(r *Ranking) (*Answer, error) {
	a := &Answer{Ranking: r}
	return a, a.CutToLimits()
}
