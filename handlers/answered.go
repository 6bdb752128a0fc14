package handlers

import (
	"context"
	"encoding/json"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/asked"
	"example.org/conclave/internal/completion"
	"example.org/conclave/internal/identity"
	"example.org/conclave/search"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
	"example.org/conclave/store"
)

// AnsweredQuestion is a question that was answered.
type AnsweredQuestion struct {
	Question string    `json:"question"` // as it was last asked
	Asked    int       `json:"asked"`    // how many times
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	Offered  bool      `json:"offered"` // enough different callers asked it
	// Restricted says that only keys with the same filter are offered it.
	Restricted bool `json:"restricted"`
}

// AnsweredList is the answer of GET /v1/admin/answered.
type AnsweredList struct {
	Keep      int                `json:"keep"`   // the most that are kept; 0: none are
	Askers    int                `json:"askers"` // how many have to ask a question before it is offered
	Questions []AnsweredQuestion `json:"questions"`
}

// answeredQuestions are the questions of a collection that were answered, and how many callers have to ask one before
// it is suggested.
type answeredQuestions struct {
	*asked.Log
	askers int
}

const (
	longestOffered = 300 // bytes of a question that is suggested
	mostOffered    = 3   // questions among suggestions, before titles
)

// answeredLog returns the collection's answered questions; nil if the configuration keeps none. It returns a problem if
// the server only reads, the collection is still being opened, or its store keeps no such log.
func (a *API) answeredLog() (*answeredQuestions, error) {
	if _, err := a.changeWriter(); err != nil {
		return nil, err
	}
	if a.answered == nil && a.judgments == nil { // as in a store
		elsewhere := &store.ElsewhereError{
			Instead: "this collection is in a store, and questions are kept only for collections in folders",
		}
		return nil, schema.NewProblem("no_such_path", schema.Sentence(elsewhere.Error()))
	}
	return a.answered, nil
}

// getAnswered answers GET /v1/admin/answered with the questions that searches answered. The list is empty if the
// configuration keeps none. Its problems are those of answeredLog.
func (a *API) getAnswered(c *call, _ none) (AnsweredList, error) {
	list := AnsweredList{Questions: []AnsweredQuestion{}}
	kept, err := c.api.answeredLog()
	if err != nil || kept == nil {
		return list, err
	}
	list.Keep = kept.Most()
	list.Askers = kept.askers
	for _, q := range kept.All() {
		list.Questions = append(list.Questions, AnsweredQuestion{
			Question: q.Question, Asked: q.Asked, First: q.First, Last: q.Last, Offered: len(q.Askers) >= kept.askers,
			Restricted: q.Restriction != "",
		})
	}
	return list, nil
}

// deleteAnswered answers DELETE /v1/admin/answered: it removes the query's question, or all questions if the query has
// none, and returns how many it removed. Its problems are those of answeredLog.
func (a *API) deleteAnswered(c *call, _ none) (out RemovedQuestions, err error) {
	kept, err := c.api.answeredLog()
	if err != nil || kept == nil {
		return out, err
	}
	return removeQuestions(c, kept.Remove)
}

// noteAnswered adds the question of a search to the answered questions of the collection, or removes it from them, by
// the verdict. who is the caller's key or address. Questions that would say something to nobody else are not kept: of
// conversations, with a filter, with misspelt words or operators, over several collections, long ones.
func (k *Collection) noteAnswered(ctx context.Context, who string, r search.Request, response reply.Response) {
	question := response.Question
	if k.answered == nil || len(response.Rankings) > 0 || len(r.Messages) > 1 || len(question) > longestOffered ||
		response.Asked != "" || len(response.Corrected) > 0 || len(r.Must)+len(r.MustNot) > 0 || !r.Filter.Empty() {
		return
	}
	restriction := restrictionText(ctx)
	switch response.Verdict {
	case reply.VerdictFound:
		k.answered.Add(asked.Question{
			Question: question, Verdict: string(response.Verdict), Restriction: restriction,
			Askers: []string{asked.AskerMark(who, question)},
		})
	case reply.VerdictNotFound, reply.VerdictDoubtful:
		k.answered.Forget(question, restriction)
	}
}

// restrictionText returns the restriction of the caller in the context as JSON; "" if it has none.
func restrictionText(ctx context.Context) string {
	to := identity.Of(ctx).Restriction
	if to == nil {
		return ""
	}
	text, err := json.Marshal(to)
	if err != nil { // it came as JSON
		return err.Error()
	}
	return string(text)
}

// offered returns suggestions with answered questions before them that complete what was typed, at most mostOffered,
// and limit suggestions in all. It returns found itself if the collection keeps none.
func (k *Collection) offered(
	ctx context.Context, typed string, found []lookup.Suggestion, limit int,
) []lookup.Suggestion {
	if k.answered == nil {
		return found
	}
	out := []lookup.Suggestion{}
	for _, q := range k.answered.Completions(typed, restrictionText(ctx), k.answered.askers, min(mostOffered, limit)) {
		out = append(out, lookup.Suggestion{Text: q.Question, Kind: completion.Question})
	}
	out = append(out, found...)
	return out[:min(len(out), limit)]
}
