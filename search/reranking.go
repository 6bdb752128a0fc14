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

const usuallyReranked = 20 // passages, where a request does not say

// Judgements lets a reranker, by name, score stored passages for a question, in the order of
// their ids. It is for measuring.
func (e *Engine) Judgements(
	ctx context.Context,
	reranker, question string,
	ids []string,
) (scores []float64, err error) {
	l, err := e.begin()
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

// planRerank checks what is asked of a reranker and fills in the defaults. What the
// configuration asks for does not apply where there are several rankings.
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

// rerankerFor returns the reranker of a name, or the first if the name is empty.
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

// rerankerNamed returns the reranker of a name; nil: there is none.
func (l *lineUp) rerankerNamed(name string) *learned.LoadedReranker {
	for i := range l.rerankers {
		if l.rerankers[i].Name == name {
			return &l.rerankers[i]
		}
	}
	return nil
}
