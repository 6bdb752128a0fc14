package search

import (
	"cmp"
	"context"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
)

// How many passages are reranked if the request does not say, and at most if the server decides.
const (
	usuallyReranked = 20
	autoReranked    = 10
)

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
	var judged []learned.Relevance
	err = run.Guard(func() error { judged, err = x.Score(ctx, question, passages); return err })
	for _, s := range judged {
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
		o.Auto = l.defaults.Rerank == ask.RerankAuto
		o.Wanted = l.defaults.Rerank == "true" && !p.Listed && len(l.rerankers) > 0
	}
	if o.Auto {
		l.planAutoRerank(r, p)
		return
	}
	if !o.Wanted {
		return
	}
	if p.Listed {
		wrong.Add(
			"not_one_ranking", "/rerank",
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

// planAutoRerank sets the plan's reranker if the server decides: the first whose weight was fitted, to the collection
// or before it was shipped. It sets none
//
//  1. for a list of methods, or a method other than the gate: the weight is one beside the gate's scores;
//  2. if the order is by a field;
//  3. if a reader marks answers and ranks by them: it reads the same passages;
//  4. if the weight is 0.
func (l *lineUp) planAutoRerank(r *Request, p *plan.Plan) {
	reads := p.Reader != nil && p.Reader.Ranking > 0
	if p.Listed || !p.WeighsByQuestion() || r.Sort != (ask.Sort{}) || reads {
		return
	}
	for i := range l.rerankers {
		x := &l.rerankers[i]
		if x.Weight == nil {
			continue
		}
		if *x.Weight > 0 {
			p.Reranker = x
			p.Reranked = autoReranked
			p.RerankAuto = true
			p.Inquiry.Reranks = true
		}
		return
	}
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
		"unknown_reranker", "/rerank/model", "there is no reranker %s: the rerankers are %s", wording.Quote(name),
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
