package search

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/storage"
)

// Engine answers questions over a corpus, for as long as a process serves it: each
// request sees the newest generation, and the line-up that Use named last. Its
// methods are safe for concurrent use. It owns the goroutines of its fan-out and
// nothing else: encoders and corpus belong to the caller, who closes an encoder
// when no line-up in use has it, and the corpus after the Engine.
type Engine struct {
	run.Runner
	corpus   storage.Corpus
	limits   Limits
	observer Observer

	tables       sync.Pool // of *fusion.Candidates
	contentWords contentWords

	swapping sync.Mutex // held by Use and Close
	closed   atomic.Bool
	current  atomic.Pointer[lineUp]
}

// NewEngine checks the configuration and returns an engine.
func NewEngine(c EngineConfig) (*Engine, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	e := &Engine{
		Runner: run.Runner{Report: c.Observer, Turns: c.Turns}, corpus: c.Corpus, limits: c.Limits, observer: c.Observer,
		tables: sync.Pool{New: func() any { return new(fusion.Candidates) }},
	}
	first, err := e.newLineUp(c.LineUp)
	if err != nil {
		return nil, err
	}
	e.current.Store(first)
	return e, nil
}

// Search answers one question. This is the order of steps:
//
//  1. plan: check every field against the limits, fill in the defaults;
//  2. pin one generation of the corpus for the whole request, and select the
//     passages that the filter lets through: no source finds others;
//  3. ask every source, in parallel, under one deadline: encode the question,
//     search, and for MUF ask the ensemble how sure the expert is;
//  4. complete: let late interaction score what was found, and fetch the true
//     scores of what others found ("missing": "exact");
//  5. fuse, once for each method asked for;
//  6. take room for the answer (WithRoom), let a reranker score the first passages and a reader mark the words that
//     answer, where they are asked for, fetch the texts and explain;
//  7. let a generator write an answer from them, where one is asked for.
//
// A source that fails or misses the deadline is left out, named in Degraded,
// and the rest is fused without it. The sources have to be back a little before
// the deadline (divideTime), so that there is time for the rest, which looks at it
// too: an answer that is not there in time is an error. A reader has its own share of the
// time; when it is late the answer comes without marked words, and Degraded says so.
//
// Errors are *Error, of kind Invalid for a request that cannot be answered,
// and when no source answered Deadline, Overloaded or Unavailable. When the
// caller has gone the error is the context's.
//
// The same request to the same generation gives the same answer but for the
// times, as long as the same sources answer.
func (e *Engine) Search(ctx context.Context, r Request) (Response, error) {
	started := time.Now()
	l, err := e.begin()
	if err != nil {
		return Response{}, err
	}
	defer l.leave()
	return l.answer(ctx, r, started, nil)
}

// answer answers a request; ahead is closed when the answers before it are out, and
// nil where there are none.
func (l *lineUp) answer(ctx context.Context, r Request, started time.Time, ahead <-chan struct{}) (Response, error) {
	p, err := l.plan(&r)
	if err != nil {
		return Response{}, err
	}
	started = started.Add(p.rewrite(ctx, l.limits.QuestionBytes))
	var response Response
	err = l.pass(ctx, p.inquiry, started, func(whole context.Context, found *pass) error {
		searching, cancel := found.searching(whole)
		defer cancel()
		a, err := found.rank(searching, p, found.findings)
		if err != nil {
			return err
		}
		defer a.done()
		if ahead != nil {
			left, waited, cancel, err := waitForEarlier(ctx, whole, ahead)
			if err != nil {
				return found.explainFailure(whole, err)
			}
			defer cancel()
			started = started.Add(waited)
			found.searched = found.searched.Add(waited)
			whole = left
		}
		response, err = a.finish(whole, started)
		return err
	})
	return response, err
}

// pass pins a generation, asks the sources, and hands over what they found, in the
// context of the whole request.
func (l *lineUp) pass(
	ctx context.Context,
	q inquiry,
	started time.Time,
	then func(ctx context.Context, found *pass) error,
) error {
	view := l.pin()
	defer view.Release()
	if q.exact {
		if err := l.allowExact(q.wanted, view); err != nil {
			return err
		}
	}
	ctx, asking, searched, cancel := q.divideTime(ctx, started)
	defer cancel()
	whole := q.question
	var behind string
	q.question, behind = l.focus(asking, &q, view)
	part := q.question
	found := l.askInConversation(asking, q, behind, view)
	if part != whole {
		found.part = part
	}
	found.searched = searched
	l.observer.Stage(ctx, "", StageSources, time.Since(started))
	if err := run.CheckCaller(ctx); err != nil {
		return err
	}
	if found.refused != nil {
		return found.refused
	}
	return then(ctx, found)
}

// allowExact refuses an exact search among more passages than an index compares with.
func (l *lineUp) allowExact(wanted []int, view storage.View) error {
	for _, at := range wanted {
		if x, ok := view.Index(l.sources[at].name()); ok && x.MostExact > 0 && x.Passages > x.MostExact {
			var wrong fault.Problems
			wrong.Add(
				"out_of_range",
				"/exact",
				"exact compares the question with all %d passages: at most %d are possible here",
				x.Passages,
				x.MostExact,
			)
			return wrong.Err()
		}
	}
	return nil
}

// conclude does the steps after the sources have answered.
func (p *pass) conclude(ctx context.Context, by *plan, findings []finding, started time.Time) (Response, error) {
	a, err := p.rank(ctx, by, findings)
	if err != nil {
		return Response{}, err
	}
	defer a.done()
	return a.finish(ctx, started)
}

// rank completes and fuses. What it returns is done with once.
func (p *pass) rank(ctx context.Context, by *plan, findings []finding) (*answer, error) {
	if err := p.checkAnswered(findings); err != nil {
		return nil, err
	}
	a := p.newAnswer(by, findings)
	a.encodeReference(ctx)
	behind := a.behindEarlier(ctx)
	if behind != nil {
		defer behind.done()
	}
	err := p.Compute(ctx, func(ctx context.Context) error {
		if err := a.completeAndFuse(ctx); err != nil {
			return err
		}
		if behind != nil {
			if err := behind.completeAndFuse(ctx); err != nil {
				return err
			}
			a.addEarlier(behind)
		}
		if err := a.orderByFields(ctx); err != nil {
			return err
		}
		return run.Guard(a.cutToLimits)
	})
	if err != nil {
		a.done()
		return nil, p.explainFailure(ctx, err)
	}
	return a, nil
}

// newAnswer returns the answer that is to be made of findings. It is done with once.
func (p *pass) newAnswer(by *plan, findings []finding) *answer {
	return &answer{
		pass:     p,
		plan:     by,
		findings: findings,
		table:    p.tables.Get().(*fusion.Candidates),
		asked:    p.question,
	}
}

// completeAndFuse ranks the candidates by every method.
func (a *answer) completeAndFuse(ctx context.Context) error {
	if err := a.step(ctx, StageComplete, a.complete); err != nil {
		return err
	}
	if err := a.withhold(ctx); err != nil {
		return err
	}
	return a.step(ctx, StageFuse, a.fuse)
}

// done gives the table back to the pool.
func (a *answer) done() {
	a.table.OrderTies(nil) // the view is this request's
	a.tables.Put(a.table)
}

// finish fetches, when there is room for the answer.
func (a *answer) finish(whole context.Context, started time.Time) (Response, error) {
	ctx, cancel := a.searching(whole)
	defer cancel()
	err := takeRoom(ctx, a.room)
	if err == nil && a.plan.window(len(a.rankings[0].Items)) > 0 {
		err = a.step(ctx, StageRerank, a.rerank)
	}
	if err == nil && a.plan.reader != nil {
		err = a.step(ctx, StageRead, a.markAnswers)
	}
	if err == nil {
		err = a.Compute(ctx, func(ctx context.Context) error { return a.step(ctx, StageFetch, a.fetch) })
	}
	if err == nil && len(a.plan.facets) > 0 {
		err = a.Compute(ctx, func(ctx context.Context) error { return run.Guard(func() error { return a.addFacets(ctx) }) })
	}
	if err == nil && (a.plan.writer != nil || watchingOf(ctx).Found != nil) {
		a.response.TookMS = run.Milliseconds(time.Since(started)) // so far
		ctx = whole
		err = a.step(ctx, StageGenerate, a.generate)
	}
	if err != nil {
		return Response{}, a.explainFailure(ctx, err)
	}
	a.response.TookMS = run.Milliseconds(time.Since(started))
	a.observer.Answer(ctx, a.response)
	return a.response, nil
}

// step does one of the steps. They look at the deadline at least once for as much as
// is done in a millisecond or two.
func (a *answer) step(ctx context.Context, stage string, do func(context.Context) error) error {
	began := time.Now()
	if err := run.Guard(func() error { return do(ctx) }); err != nil {
		return err
	}
	a.observer.Stage(ctx, "", stage, time.Since(began))
	return nil
}

// explainFailure returns the error of a request whose sources answered and that has no
// answer for all that.
func (p *pass) explainFailure(ctx context.Context, cause error) error {
	var known *fault.Error
	if err := run.CheckCaller(ctx); err != nil {
		return err
	}
	switch {
	case errors.As(cause, &known):
		return known
	case errors.Is(cause, context.DeadlineExceeded):
		return &fault.Error{Kind: fault.Deadline, Code: "deadline", Err: cause,
			Detail: fmt.Sprintf(
				"the sources answered, and the answer was not put together within %g ms",
				run.Milliseconds(p.timeout),
			)}
	}
	return &fault.Error{
		Kind:   fault.Unavailable,
		Code:   "failed",
		Detail: "the answer could not be put together; the server's log says why",
		Err:    cause,
	}
}

// checkAnswered returns the error when no source is left that any of the methods
// could use. One that follows, which only scores what others found, is none.
func (p *pass) checkAnswered(findings []finding) error {
	var deadline, full, other int
	var causes []error
	reasons := ""
	for _, f := range findings {
		switch f.status {
		case StatusOK:
			if !f.follows {
				return nil
			}
			continue
		case StatusSkipped:
			continue
		case StatusDeadline:
			deadline++
		case StatusOverloaded:
			full++
		default:
			other++
		}
		causes = append(causes, fmt.Errorf("%s: %w", f.source.name(), f.cause))
		reasons += fmt.Sprintf("; %s: %s", f.source.name(), f.reason)
	}
	err := &fault.Error{Err: errors.Join(causes...)}
	switch {
	case deadline > 0 && other == 0 && deadline >= full:
		err.Kind = fault.Deadline
		err.Code = "deadline"
		err.Detail = fmt.Sprintf("no source answered within %g ms", run.Milliseconds(p.timeout)) + reasons
	case full > 0 && other == 0:
		err.Kind = fault.Overloaded
		err.Code = "overloaded"
		err.Detail = "the server has more questions waiting than it can take" + reasons
	default:
		err.Kind = fault.Unavailable
		err.Code = "unavailable"
		err.Detail = "no source could answer" + reasons
	}
	return err
}
