package search

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/talk"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/internal/presenting"
	"example.org/conclave/search/internal/question"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// Engine answers questions over a corpus, as long as a process serves it. Each request sees the newest generation, and
// the line-up that Use set last. Its methods are safe for concurrent use. It owns the goroutines that ask sources, and
// nothing else: encoders and corpus belong to the caller, who may close an encoder when no line-up in use has it, and
// the corpus after Close.
type Engine struct {
	run      run.Runner
	corpus   storage.Corpus
	limits   Limits
	observer Observer

	tables       sync.Pool // of *fusion.Candidates
	contentWords content.Words
	suggestions  suggestions

	swapping sync.Mutex // held by Use and Close
	closed   atomic.Bool
	current  atomic.Pointer[lineUp]
}

// NewEngine returns an engine with a configuration. It fails if a limit, a default or an expert of the line-up is
// invalid. Call Close at the end.
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

// Search answers one question, in these steps:
//
//  1. Plan: check every field against the limits and fill in the defaults.
//  2. Pin one generation of the corpus for the whole request, and select the passages that match the filter: no source
//     finds others.
//  3. Ask every source, in parallel, under one deadline: encode the question, search, and for the method muf ask the
//     ensemble how sure the expert is.
//  4. Complete: let late interaction score what was found, and compute the exact scores of what other sources found
//     ("missing": "exact").
//  5. Fuse, once for each method of the request.
//  6. Wait for memory (Caller.TakeRoom), let a reranker score the first passages and a reader mark the words that
//     answer, if asked for, read the texts and explain.
//  7. Let a generator write an answer from them, if asked for.
//
// A source that fails or misses its deadline is left out and named in Degraded, and the others are fused without it.
// The sources have to answer a little before the request's deadline (divideTime), which the later steps check too: a
// response that is not complete in time is an error. A reader that is late leaves the response without marked words,
// and Degraded says so.
//
// It returns a *fault.Error: of kind Invalid for a request that cannot be answered, and of kind Deadline, Overloaded or
// Unavailable if no source answered or the response could not be made. If the caller is gone, it returns the context's
// error.
//
// The same request to the same generation gets the same response apart from times, as long as the same sources answer.
func (e *Engine) Search(ctx context.Context, by Caller, r Request) (reply.Response, error) {
	started := time.Now()
	l, err := e.useLineUp()
	if err != nil {
		return reply.Response{}, err
	}
	defer l.panel.Users.Leave()
	return e.answerNoted(ctx, l, by, r, started, nil)
}

// answerNoted returns lineUp.answer's response, with notes on fields that no passage has (absentFields, which asks the
// store) and on a shortened message. In a batch, the answer is not finished before ahead is closed, that is until the
// answers before it were delivered; nil: there is no batch. It fails as Search does, with a *fault.Error or the error
// of a context that ended.
func (e *Engine) answerNoted(
	ctx context.Context,
	l *lineUp,
	by Caller,
	r Request,
	started time.Time,
	ahead <-chan struct{},
) (reply.Response, error) {
	response, err := l.answer(ctx, by, r, started, ahead)
	if err == nil {
		response.Notes = append(response.Notes, e.absentFields(ctx, &r, &response)...)
		response.Notes = append(response.Notes, r.shortenedNote(l.limits.QuestionBytes)...)
	}
	return response, err
}

// answer plans a request, asks the sources, ranks and finishes the response. In a batch it does not finish before ahead
// is closed, that is until the answers before it were delivered; nil: it is not in a batch. It fails as Search does,
// with a *fault.Error or the error of a context that ended.
func (l *lineUp) answer(
	ctx context.Context,
	by Caller,
	r Request,
	started time.Time,
	ahead <-chan struct{},
) (reply.Response, error) {
	p, err := l.plan(&r)
	if err != nil {
		return reply.Response{}, err
	}
	started = started.Add(rewriteMessages(ctx, by, p, l.limits.QuestionBytes))
	l.override(p)
	o, whole, release, err := l.ask(ctx, p.Inquiry, started, by.Arrived)
	if err != nil {
		return reply.Response{}, err
	}
	defer release()
	searching, cancel := o.untilSearched(whole)
	defer cancel()
	a, err := l.rank(searching, by, p, o, o.found.All)
	if err != nil {
		return reply.Response{}, err
	}
	defer a.Done()
	if ahead != nil {
		left, waited, cancel, err := waitForEarlier(ctx, whole, ahead)
		if err != nil {
			return reply.Response{}, explainFailure(whole, o.found.Inquiry.Timeout, err)
		}
		defer cancel()
		started = started.Add(waited)
		o.searched = o.searched.Add(waited)
		whole = left
	}
	return l.finish(whole, by, a, o, started)
}

// ask pins a generation and asks the sources of an inquiry. It returns their findings and a context for the rest of the
// request. Call release at the end; it is nil with an error. It fails if the caller is gone, the filter does not fit
// the collection, or an exact search would compare too many passages.
func (l *lineUp) ask(
	ctx context.Context,
	q sources.Inquiry,
	started, arrived time.Time,
) (o *askResult, whole context.Context, release func(), err error) {
	view := l.pin()
	whole, asking, searched, cancel := divideTime(ctx, &q, started, arrived)
	release = func() {
		cancel()
		view.Release()
	}
	o, err = l.askWithFocus(asking, &q, view)
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

// askWithFocus returns the result of asking the sources, all within asking. First it replaces q.Question and q.Before
// by the parts that ask something, and finds the topic of q.Before. It fails only if an exact search would compare too
// many passages; failures of sources are in the result.
func (l *lineUp) askWithFocus(
	asking context.Context, q *sources.Inquiry, view *snapshot.PinnedView,
) (*askResult, error) {
	if q.Exact {
		if err := l.allowExact(q.Wanted, view); err != nil {
			return nil, err
		}
	}
	whole := q.Question
	focuser := question.Focuser{Panel: l.panel, Confidence: l.estimateConfidence}
	q.Question = focuser.Focus(asking, q, view, talk.TrimCourtesies(whole))
	part := q.Question
	var about answering.Topic
	if len(q.Before) > 0 {
		within, cancel := question.Within(asking)
		before := make([]string, len(q.Before))
		for i, text := range q.Before {
			before[i] = focuser.Focus(within, q, view, text)
		}
		q.Before = before
		about = l.findTopic(within, q, view, before)
		cancel()
	}
	o := l.askInConversation(asking, *q, about, view)
	if part != whole {
		o.part = part
	}
	return o, nil
}

// rank returns the answer that findings give by a plan, before any model has read its passages: candidates, ranking,
// order by fields, and cut to the page. Call Done on it at the end. It fails if no source of the plan answered, or if
// ranking does.
func (l *lineUp) rank(
	ctx context.Context,
	by Caller,
	p *plan.Plan,
	o *askResult,
	findings []sources.Finding,
) (*answering.Answer, error) {
	if err := o.found.CheckAnswered(findings); err != nil {
		return nil, err
	}
	candidates := answering.NewCandidates(&l.rules, p, o.found, findings)
	candidates.EncodeReference(ctx)
	behind := candidates.BehindEarlier(ctx, o.earlier)
	if behind != nil {
		defer behind.Done()
	}
	var a *answering.Answer
	err := l.panel.Run.Compute(ctx, func(ctx context.Context) error {
		ranking, err := candidates.Rank(ctx)
		if err != nil {
			return err
		}
		if behind != nil {
			earlier, err := behind.Rank(ctx)
			if err != nil {
				return err
			}
			if err := ranking.AddEarlier(earlier, o.about); err != nil {
				return err
			}
		}
		if err := presenting.OrderByFields(ctx, ranking, by.takeRoom); err != nil {
			return err
		}
		if err := ranking.FindPins(ctx); err != nil {
			return err
		}
		return run.Guard(func() error {
			a, err = answering.NewAnswer(ranking)
			return err
		})
	})
	if err != nil {
		candidates.Done()
		return nil, explainFailure(ctx, o.found.Inquiry.Timeout, err)
	}
	return a, nil
}

// finish waits for memory, lets a reranker and a reader work on the answer, reads the texts, counts facets, and lets a
// generator write. It returns the response and reports it to the observer. whole is the context of the request. It
// fails as explainFailure says, or with an error of the caller's TakeRoom or Found; a reader or generator that fails is
// noted in the response.
func (l *lineUp) finish(
	whole context.Context,
	by Caller,
	a *answering.Answer,
	o *askResult,
	started time.Time,
) (reply.Response, error) {
	ctx, cancel := o.untilSearched(whole)
	defer cancel()
	p := presenting.NewPage(
		a, presenting.QuestionChanges{Part: o.part, Corrections: o.corrections, Doubt: o.doubt, Synonyms: o.synonyms},
		by.takeRoom,
	)
	compute := l.panel.Run.Compute
	err := by.takeRoom(ctx, a.Room)
	if err == nil && a.Plan.Window(len(a.Rankings[0].Items)) > 0 {
		err = a.Step(ctx, run.StageRerank, a.Rerank)
	}
	if err == nil && a.Plan.Reader != nil {
		err = a.Step(ctx, run.StageRead, a.MarkAnswers)
	}
	if err == nil {
		err = compute(ctx, func(ctx context.Context) error {
			if err := a.CutToPage(); err != nil {
				return err
			}
			return a.Step(ctx, run.StageFetch, p.Fetch)
		})
	}
	if err == nil && len(a.Plan.Facets) > 0 {
		err = compute(ctx, func(ctx context.Context) error {
			return run.Guard(func() error { return p.AddFacets(ctx) })
		})
	}
	if err == nil && (a.Plan.Writer != nil || by.Watching.Found != nil) {
		p.Response.TookMS = run.Milliseconds(time.Since(started)) // so far
		ctx = whole
		err = a.Step(ctx, run.StageGenerate, func(ctx context.Context) error { return writeAnswer(ctx, a, p, by) })
	}
	if err != nil {
		return reply.Response{}, explainFailure(ctx, o.found.Inquiry.Timeout, err)
	}
	p.Response.TookMS = run.Milliseconds(time.Since(started))
	l.observer.Answer(ctx, p.Response)
	return p.Response, nil
}

// writeAnswer lets the plan's generator write an answer from the passages, and adds it with its notes to the response.
// First it calls the caller's Watchers.Found, if set, with the response so far; then Written and Sentence while the
// model writes. It returns Found's error, or that of a passage that cannot be read.
func writeAnswer(ctx context.Context, a *answering.Answer, p *presenting.Page, by Caller) error {
	watching := by.Watching
	if watching.Found != nil {
		if err := watching.Found(p.Response); err != nil {
			return err
		}
	}
	follow := answering.GenerationEvents{
		Written: watching.Written, Sentence: watching.Sentence, Idle: by.reportWait,
	}
	if follow.Written == nil {
		follow.Written = func(string) {}
	}
	if follow.Sentence == nil {
		follow.Sentence = func(reply.WrittenSentence) {}
	}
	w, err := a.Generate(ctx, p.Response.Verdict, follow)
	if err != nil {
		return err
	}
	p.Response.Generated = w.Answer
	p.Response.Notes = append(p.Response.Notes, w.Notes...)
	p.Response.Degraded = append(p.Response.Degraded, w.Degraded...)
	return nil
}

// pin returns a view of the newest generation, with the current line-up's types of fields. Call Release at the end.
func (e *Engine) pin() *snapshot.PinnedView {
	return snapshot.Pin(e.corpus.Acquire(), e.current.Load().defaults.Fields)
}

// pin returns a view of the newest generation, with the line-up's types of fields. Call Release at the end.
func (l *lineUp) pin() *snapshot.PinnedView {
	return snapshot.Pin(l.corpus.Acquire(), l.defaults.Fields)
}
