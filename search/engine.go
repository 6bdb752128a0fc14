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
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/question"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/storage"
)

// Engine answers questions over a corpus, for as long as a process serves it: each
// request sees the newest generation, and the line-up that Use named last. Its
// methods are safe for concurrent use. It owns the goroutines of its fan-out and
// nothing else: encoders and corpus belong to the caller, who closes an encoder
// when no line-up in use has it, and the corpus after the Engine.
type Engine struct {
	run      run.Runner
	corpus   storage.Corpus
	limits   Limits
	observer Observer

	tables       sync.Pool // of *fusion.Candidates
	contentWords content.Words

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
		run: run.Runner{Report: c.Observer, Turns: c.Turns}, corpus: c.Corpus, limits: c.Limits, observer: c.Observer,
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
	defer l.panel.Users.Leave()
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
	o, whole, release, err := l.ask(ctx, p.inquiry, started)
	if err != nil {
		return Response{}, err
	}
	defer release()
	searching, cancel := o.untilSearched(whole)
	defer cancel()
	a, err := l.rank(searching, p, o, o.found.All)
	if err != nil {
		return Response{}, err
	}
	defer a.done()
	if ahead != nil {
		left, waited, cancel, err := waitForEarlier(ctx, whole, ahead)
		if err != nil {
			return Response{}, explainFailure(whole, o.found.Inquiry.Timeout, err)
		}
		defer cancel()
		started = started.Add(waited)
		o.searched = o.searched.Add(waited)
		whole = left
	}
	return l.finish(whole, a, o, started)
}

// rewrite lets the generator of a request make a question that stands alone of the last message of a conversation. The
// question takes the place of all the messages, of at most so many bytes. It returns how long that took. If it fails,
// the messages are asked as without it, and the answer says so.
func (p *plan) rewrite(ctx context.Context, bytes int) time.Duration {
	if len(p.inquiry.Before) == 0 || p.writer == nil || p.writer.Rewriter == nil {
		return 0
	}
	defer wait(ctx)()
	began := time.Now()
	within := p.inquiry.Writing / question.ShareOfRewriting
	question, err := question.Rewrite(ctx, p.writer.Rewriter, p.inquiry.Before, p.inquiry.Question, bytes, within)
	if err == nil {
		if question != p.inquiry.Question {
			p.inquiry.Message = p.inquiry.Question
		}
		p.inquiry.Question, p.inquiry.Before = question, nil
		return time.Since(began)
	}
	reason := run.AdviceOf(err)
	if reason == "" {
		reason = err.Error()
	}
	p.unwritten = &Missing{
		Source: p.writer.Name,
		Reason: "the last message was asked as it is and behind those before it, " +
			"not as a question that stands alone: " + reason,
	}
	return time.Since(began)
}

// outcome is what the sources found for a question of a request.
type outcome struct {
	found       *sources.Findings     // for the question
	corrections []question.Correction // of misspelt words of it
	synonyms    []question.Expansion  // that were searched for with its words
	part        string                // the part of a long question that was asked; "": all of it
	earlier     *sources.Findings     // for the question behind the messages before it; nil: there are none
	searched    time.Time             // when everything but the writing of an answer has to be done
}

// untilSearched returns a context that ends when everything but the writing of an answer has to be done.
func (o *outcome) untilSearched(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.found.Inquiry.Writing == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, o.searched)
}

// ask pins a generation and asks the sources of an inquiry. It returns what they found and a context for the rest of
// the request. Call release at its end; it is nil on an error.
func (l *lineUp) ask(
	ctx context.Context,
	q sources.Inquiry,
	started time.Time,
) (o *outcome, whole context.Context, release func(), err error) {
	view := l.pin()
	whole, asking, searched, cancel := divideTime(ctx, &q, started)
	release = func() {
		cancel()
		view.Release()
	}
	o, err = l.askOf(ctx, asking, &q, view)
	if err != nil {
		release()
		return nil, nil, nil, err
	}
	o.searched = searched
	l.panel.Run.Report.Stage(ctx, "", run.StageSources, time.Since(started))
	err = checkAsked(ctx, o)
	if err != nil {
		release()
		return nil, nil, nil, err
	}
	return o, whole, release, nil
}

// checkAsked returns the error of a request that ends after the sources were asked: its caller has gone, or its filter
// cannot be followed.
func checkAsked(ctx context.Context, o *outcome) error {
	if err := run.CheckCaller(ctx); err != nil {
		return err
	}
	if o.found.Refused != nil {
		return o.found.Refused
	}
	return nil
}

// askOf finds the question in the text of an inquiry and asks the sources for it, within asking.
func (l *lineUp) askOf(ctx, asking context.Context, q *sources.Inquiry, view *snapshot.Pinned) (*outcome, error) {
	if q.Exact {
		if err := l.allowExact(q.Wanted, view); err != nil {
			return nil, err
		}
	}
	whole := q.Question
	var behind string
	q.Question, behind = question.Focuser{Panel: l.panel, Confidence: l.estimateConfidence}.Focus(asking, q, view)
	part := q.Question
	o := l.askInConversation(asking, *q, behind, view)
	if part != whole {
		o.part = part
	}
	return o, nil
}

// allowExact refuses an exact search among more passages than an index compares with.
func (l *lineUp) allowExact(wanted []int, view storage.View) error {
	for _, at := range wanted {
		if x, ok := view.Index(l.panel.Sources[at].Name()); ok && x.MostExact > 0 && x.Passages > x.MostExact {
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

// rank completes and fuses. What it returns is done with once.
func (l *lineUp) rank(ctx context.Context, by *plan, o *outcome, findings []sources.Finding) (*answer, error) {
	if err := o.found.CheckAnswered(findings); err != nil {
		return nil, err
	}
	a := newAnswer(&l.rules, by, o.found, findings)
	a.encodeReference(ctx)
	behind := a.behindEarlier(ctx, o.earlier)
	if behind != nil {
		defer behind.done()
	}
	err := l.panel.Run.Compute(ctx, func(ctx context.Context) error {
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
		return nil, explainFailure(ctx, o.found.Inquiry.Timeout, err)
	}
	return a, nil
}

// newAnswer returns the answer that is to be made of findings, by rules and a plan. It is done with once.
func newAnswer(r *rules, by *plan, found *sources.Findings, findings []sources.Finding) *answer {
	return &answer{
		found:    found,
		rules:    r,
		plan:     by,
		findings: findings,
		table:    r.tables.Get().(*fusion.Candidates),
		asked:    found.Inquiry.Question,
	}
}

// completeAndFuse ranks the candidates by every method.
func (a *answer) completeAndFuse(ctx context.Context) error {
	if err := a.step(ctx, run.StageComplete, a.complete); err != nil {
		return err
	}
	if err := a.withhold(ctx); err != nil {
		return err
	}
	return a.step(ctx, run.StageFuse, a.fuse)
}

// done gives the table back to the pool.
func (a *answer) done() {
	a.table.OrderTies(nil) // the view is this request's
	a.rules.tables.Put(a.table)
}

// finish fetches, when there is room for the answer.
func (l *lineUp) finish(whole context.Context, a *answer, o *outcome, started time.Time) (Response, error) {
	ctx, cancel := o.untilSearched(whole)
	defer cancel()
	compute := l.panel.Run.Compute
	err := takeRoom(ctx, a.room)
	if err == nil && a.plan.window(len(a.rankings[0].Items)) > 0 {
		err = a.step(ctx, run.StageRerank, a.rerank)
	}
	if err == nil && a.plan.reader != nil {
		err = a.step(ctx, run.StageRead, a.markAnswers)
	}
	if err == nil {
		err = compute(ctx, func(ctx context.Context) error {
			return a.step(ctx, run.StageFetch, func(ctx context.Context) error { return a.fetch(ctx, o) })
		})
	}
	if err == nil && len(a.plan.facets) > 0 {
		err = compute(ctx, func(ctx context.Context) error {
			return run.Guard(func() error { return a.addFacets(ctx) })
		})
	}
	if err == nil && (a.plan.writer != nil || watchingOf(ctx).Found != nil) {
		a.response.TookMS = run.Milliseconds(time.Since(started)) // so far
		ctx = whole
		err = a.step(ctx, run.StageGenerate, a.generate)
	}
	if err != nil {
		return Response{}, explainFailure(ctx, o.found.Inquiry.Timeout, err)
	}
	a.response.TookMS = run.Milliseconds(time.Since(started))
	l.observer.Answer(ctx, a.response)
	return a.response, nil
}

// step does one of the steps. They look at the deadline at least once for as much as
// is done in a millisecond or two.
func (a *answer) step(ctx context.Context, stage string, do func(context.Context) error) error {
	began := time.Now()
	if err := run.Guard(func() error { return do(ctx) }); err != nil {
		return err
	}
	a.found.Panel.Run.Report.Stage(ctx, "", stage, time.Since(began))
	return nil
}

// explainFailure returns the error of a request whose sources answered and that has no
// answer for all that.
func explainFailure(ctx context.Context, timeout time.Duration, cause error) error {
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
				run.Milliseconds(timeout),
			)}
	}
	return &fault.Error{
		Kind:   fault.Unavailable,
		Code:   "failed",
		Detail: "the answer could not be put together; the server's log says why",
		Err:    cause,
	}
}

// pin pins the newest generation for a request, which releases it.
func (e *Engine) pin() *snapshot.Pinned {
	return snapshot.Pin(e.corpus.Acquire(), e.current.Load().defaults.Fields)
}

// pin pins the newest generation for a request, which releases it.
func (l *lineUp) pin() *snapshot.Pinned { return snapshot.Pin(l.corpus.Acquire(), l.defaults.Fields) }

// estimateConfidence returns the confidence of the answer that a text has as a question by default; known
// is false where there is no such confidence.
func (l *lineUp) estimateConfidence(
	ctx context.Context,
	q *sources.Inquiry,
	view *snapshot.Pinned,
	text string,
) (sure float64, known bool) {
	if l.defaults.Chances == nil {
		return 0, false
	}
	p, err := l.plan(&Request{Question: text, Filter: q.Filter})
	if err != nil || p.listed || !p.weighsByQuestion() {
		return 0, false
	}
	p.inquiry.Filter = q.Filter // with what passages must have
	p.inquiry.Words, _ = question.AddSynonyms(p.inquiry.Question, l.defaults.Synonyms)
	found := l.panel.Ask(ctx, p.inquiry, view)
	a, err := l.rank(ctx, p, &outcome{found: found}, found.All)
	if err != nil {
		return 0, false
	}
	defer a.done()
	if c := a.rankings[0].Confidence; c != nil {
		return *c, true
	}
	return 0, false
}
