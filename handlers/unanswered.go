package handlers

import (
	"cmp"
	"context"
	"time"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/asked"
	"example.org/conclave/search"
	"example.org/conclave/search/reply"
	"example.org/conclave/store"
)

// UnansweredQuestion is a question that was not answered.
type UnansweredQuestion struct {
	Question string    `json:"question"`          // as it was last asked; at most 500 bytes and "…"
	Verdict  string    `json:"verdict"`           // of the last answer: "not_found" or "doubtful"
	Asked    int       `json:"asked"`             // how many times
	First    time.Time `json:"first"`             // when it was first asked
	Last     time.Time `json:"last"`              // when it was last asked
	Filtered bool      `json:"filtered"`          // whether the last search was of a part of the passages only
	Nearest  string    `json:"nearest,omitempty"` // id of the first passage of the last search; "": none was found
}

// UnansweredList is the answer of GET /v1/admin/unanswered.
type UnansweredList struct {
	Keep      int                  `json:"keep"` // the most that are kept; 0: none are
	Questions []UnansweredQuestion `json:"questions"`
}

// RemovedQuestions is the answer of DELETE /v1/admin/unanswered.
type RemovedQuestions struct {
	Removed int `json:"removed"`
}

// unansweredLog returns the log of the collection's unanswered questions; nil if the configuration keeps none. It
// returns a problem if the server only reads, the collection is still being opened, or its store keeps no such log.
func (a *API) unansweredLog() (*asked.Log, error) {
	if _, err := a.changeWriter(); err != nil {
		return nil, err
	}
	if a.unanswered == nil && a.judgments == nil { // as in a store
		elsewhere := &store.ElsewhereError{
			Instead: "this collection is in a store, and unanswered questions are kept only for collections in folders: " +
				"log the questions instead (log.questions)",
		}
		return nil, schema.NewProblem("no_such_path", schema.Sentence(elsewhere.Error()))
	}
	return a.unanswered, nil
}

// getUnanswered answers GET /v1/admin/unanswered with the questions that searches did not answer. The list is empty if
// the configuration keeps none. Its problems are those of unansweredLog.
func (a *API) getUnanswered(*call, none) (UnansweredList, error) {
	list := UnansweredList{Questions: []UnansweredQuestion{}}
	kept, err := a.unansweredLog()
	if err != nil || kept == nil {
		return list, err
	}
	list.Keep = kept.Most()
	for _, q := range kept.All() {
		list.Questions = append(list.Questions, UnansweredQuestion{
			Question: q.Question, Verdict: q.Verdict, Asked: q.Asked, First: q.First, Last: q.Last, Filtered: q.Filtered,
			Nearest: q.Nearest,
		})
	}
	return list, nil
}

// deleteUnanswered answers DELETE /v1/admin/unanswered: it removes the query's question, or all questions if the query
// has none, and returns how many it removed. Its problems are those of unansweredLog.
func (a *API) deleteUnanswered(c *call, _ none) (out RemovedQuestions, err error) {
	kept, err := a.unansweredLog()
	if err != nil || kept == nil {
		return out, err
	}
	return removeQuestions(c, kept.Remove)
}

// removeQuestions removes the query's question, or all questions if the query has none (remove gets ""), and returns
// how many it removed. A failure of remove is a problem of the store.
func removeQuestions(c *call, remove func(question string) (int, error)) (out RemovedQuestions, err error) {
	question, _ := c.query["question"].(string)
	out.Removed, err = remove(question)
	if err != nil {
		return out, storeProblem(err)
	}
	return out, nil
}

// noteAnswer adds the question of a search to the unanswered questions of the collections that were searched, or
// removes it from them, by the verdict. A search without a verdict, or by several methods, changes nothing.
func (k *Collection) noteAnswer(ctx context.Context, r search.Request, response reply.Response) {
	for _, member := range k.members {
		member.noteAnswer(ctx, r, response)
	}
	if k.unanswered == nil || len(response.Rankings) > 0 {
		return
	}
	q := asked.Question{
		Question: cmp.Or(response.Asked, response.Question), Verdict: string(response.Verdict), Filtered: !r.Filter.Empty(),
	}
	if key := front.ExchangeOf(ctx).Key; key != nil && key.Filter != nil {
		q.Filtered = true
	}
	switch response.Verdict {
	case reply.VerdictFound:
		k.unanswered.Forget(q.Question, "")
	case reply.VerdictNotFound, reply.VerdictDoubtful:
		if len(response.Results) > 0 {
			q.Nearest = response.Results[0].ID
		} else if len(response.Groups) > 0 && len(response.Groups[0].Results) > 0 {
			q.Nearest = response.Groups[0].Results[0].ID
		}
		k.unanswered.Add(q)
	}
}
