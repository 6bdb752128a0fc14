package search

import (
	"cmp"
	"context"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
)

// usuallyReranked is the number of passages that are reranked if the request does not say.
const usuallyReranked = 20

// Judgements returns the scores of a reranker for a question and stored passages, in the order of ids. reranker is its
// name; "": the first. It is for calibration. It fails if the reranker is unknown, if a passage does not exist, or if
// the reranker fails.
func (e *Engine) Judgements(
	ctx context.Context,
	reranker, question string,
	ids []string,
) (scores []float64, err error) {
	l, err := e.useLineUp()
	if err != nil {
		return nil, err
	}
	defer l.panel.Users.Leave()
	var wrong fault.Problems
	x := l.rerankerFor(reranker, &wrong)
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	passages := make([]corpus.Passage, len(ids))
	for i, id := range ids {
		passages[i], _, err = e.Passage(ctx, Caller{}, id)
		if err != nil {
			return nil, err
		}
	}
	var said []learned.Relevance
	err = run.Guard(func() error { said, err = x.Score(ctx, question, passages); return err })
	for _, s := range said {
		scores = append(scores, s.Score)
	}
	return scores, err
}

// planRerank checks Request.Rerank and sets the plan's reranker, with defaults filled in. The default of the
// configuration does not apply to a list of methods. A reranker with the fitted weight 0 becomes p.Useless. Problems
// are added to wrong.
func (l *lineUp) planRerank(r *Request, p *plan.Plan, wrong *fault.Problems) {
	o := r.Rerank
	if !o.Asked {
		o.Wanted = l.defaults.Rerank && !p.Listed && len(l.rerankers) > 0
	}
	if !o.Wanted {
		return
	}
	if p.Listed {
		wrong.Add(
			"not_one_ranking",
			"/rerank",
			"one ranking is reranked, and fusion is a list of methods: name one method, or leave out rerank",
		)
	}
	p.Reranker = l.rerankerFor(o.Model, wrong)
	p.Reranked = wrong.Count("/rerank/passages", o.Passages, usuallyReranked, MostRead)
	if p.Reranker != nil && p.Weighs(p.Reranker) && *p.Reranker.Weight == 0 {
		p.Useless = p.Reranker
		p.Reranker = nil
		p.Reranked = 0
	}
	p.Inquiry.Reranks = p.Reranker != nil
}

// rerankerFor returns the reranker with a name, or the first one if the name is empty. If there is none, it returns nil
// and adds a problem to wrong.
func (l *lineUp) rerankerFor(name string, wrong *fault.Problems) *learned.LoadedReranker {
	if len(l.rerankers) == 0 {
		wrong.Add("needs_reranker", "/rerank", "passages are scored by a reranker, and none is loaded")
		return nil
	}
	if x := l.rerankerNamed(cmp.Or(name, l.rerankers[0].Name)); x != nil {
		return x
	}
	names := make([]string, len(l.rerankers))
	for i := range l.rerankers {
		names[i] = l.rerankers[i].Name
	}
	wrong.Add(
		"unknown_reranker",
		"/rerank/model",
		"there is no reranker %s: the rerankers are %s",
		wording.Quote(name),
		wording.List(names),
	)
	return nil
}

// rerankerNamed returns the reranker with a name; nil if there is none.
func (l *lineUp) rerankerNamed(name string) *learned.LoadedReranker {
	for i := range l.rerankers {
		if l.rerankers[i].Name == name {
			return &l.rerankers[i]
		}
	}
	return nil
}
