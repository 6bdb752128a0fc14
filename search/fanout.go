package search

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"conclave/rank"
)

// Statuses of a source in an answer.
const (
	StatusOK         = "ok"
	StatusFailed     = "failed"
	StatusDeadline   = "deadline"
	StatusOverloaded = "overloaded"
	// StatusSkipped: others are more familiar with the question, or no method has a
	// use for the expert.
	StatusSkipped = "skipped"
)

// aside is the source of a finding that is none of the plan's: the question's
// vector by the reference.
const aside = -1

// finding is what one source came back with.
type finding struct {
	source  int // into the plan's sources: its experts, then BM25, phrases, late interaction; or aside
	name    string
	status  string
	reason  string // for the user, when the status is not ok
	cause   error  // for the log, likewise
	hits    []rank.Hit
	vector  []float32   // of the question; dense sources and late interaction only
	vectors VectorIndex // likewise
	words   WordIndex   // BM25 and phrases only
	ceiling float64     // BM25 only: what no score reaches
	cut     bool        // only the beginning of the question was read
	sure    *certainty  // nil: not asked for, or not to be had

	familiarity *float64 // nil: no method asked, or the expert has no domain
	took        Took
}

// certainty is how sure an expert is on this question.
type certainty struct{ confidence, mutualInformation float64 }

// pinned is a View that several goroutines use: the last one to let go
// releases it.
type pinned struct {
	View
	indexes  Indexes // the view's own, or narrowed by a filter
	selected *int    // how many passages the filter lets through; nil without one
	users    atomic.Int64
}

// Vectors is the index of an expert, narrowed.
func (p *pinned) Vectors(expert string) (VectorIndex, bool) { return p.indexes.Vectors(expert) }

// Words is BM25, narrowed.
func (p *pinned) Words() WordIndex { return p.indexes.Words() }

// Phrases is BM25 over phrases, narrowed.
func (p *pinned) Phrases() WordIndex { return p.indexes.Phrases() }

func (e *Engine) pin() *pinned {
	p := &pinned{View: e.corpus.Acquire()}
	p.indexes = p.View
	p.users.Store(1)
	return p
}

func (p *pinned) hold() { p.users.Add(1) }

func (p *pinned) letGo() {
	if p.users.Add(-1) == 0 {
		p.Release()
	}
}

// ask puts the question to every source of the plan, in parallel, and returns
// one finding for each, in the plan's order, at the latest when ctx is done.
// Sources that were not back by then are left out; they end in their own time
// and let go of the view.
func (e *lineUp) ask(ctx context.Context, p *plan, view *pinned) []finding {
	err := view.narrow(ctx, p.filter)
	p.phrases = p.phrases && view.Phrases() != nil
	sources := p.sources()
	findings := make([]finding, sources)
	if err != nil {
		return e.unselected(ctx, p, findings, err)
	}
	answers := make(chan finding, sources+1) // nobody ever waits to send
	if p.words {
		e.start(view, func() { answers <- e.askWords(ctx, p, view) })
	}
	if p.phrases {
		e.start(view, func() { answers <- e.askPhrases(ctx, p, view) })
	}
	if p.late {
		e.start(view, func() { answers <- e.askLate(ctx, p, view) })
	}
	if e.preselects(p) {
		e.start(view, func() { e.askFamiliar(ctx, p, view, answers) })
	} else {
		for _, group := range e.shared(p, everyone(len(p.experts))) {
			e.start(view, func() { e.askExperts(ctx, p, view, group, answers) })
		}
	}

	for i := range findings {
		findings[i] = finding{source: i, name: e.sourceName(p, i), status: StatusDeadline}
	}
	waiting := sources
	for i, expert := range p.experts {
		if p.unused[expert] != "" {
			findings[i].status, findings[i].reason = StatusSkipped, p.unused[expert]
			waiting--
		}
	}
	take := func(f finding) {
		if f.source == aside {
			p.reference = f.vector
			return
		}
		findings[f.source] = f
		waiting--
	}
	for waiting > 0 {
		select {
		case f := <-answers:
			take(f)
			continue
		case <-ctx.Done():
		}
		// What came in at the same moment still counts.
		select {
		case f := <-answers:
			take(f)
		default:
			waiting = 0
		}
	}
	for i := range findings {
		e.settle(ctx, p, &findings[i])
	}
	return findings
}

// sourceName is the name of a source of the plan.
func (e *lineUp) sourceName(p *plan, source int) string {
	switch source {
	case p.wordsAt():
		return WordSource
	case p.phrasesAt():
		return PhraseSource
	case p.lateAt():
		return e.late.Name
	}
	return e.experts[p.experts[source]].Name
}

// start runs a part of the fan-out, which the engine's Close waits for.
func (e *lineUp) start(view *pinned, part func()) {
	view.hold()
	e.hold()
	go func() {
		defer e.leave()
		defer view.letGo()
		part()
	}()
}

// everyone are the positions of n experts.
func everyone(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// shared groups positions in the plan's experts by the encoder that they share,
// without those that no method has a use for.
func (e *lineUp) shared(p *plan, positions []int) [][]int {
	var groups [][]int
	at := make(map[int]int, len(positions)) // encoder → group
	for _, position := range positions {
		if p.unused[p.experts[position]] != "" {
			continue
		}
		encoder := e.encoderOf[p.experts[position]]
		g, ok := at[encoder]
		if !ok {
			g = len(groups)
			at[encoder] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], position)
	}
	return groups
}

// settle gives a finding its status and tells the observer. A finding whose
// status is still "deadline" never arrived.
func (e *lineUp) settle(ctx context.Context, p *plan, f *finding) {
	switch {
	case f.status == StatusSkipped:
		return
	case f.status == StatusDeadline:
		f.cause = context.DeadlineExceeded
	case f.cause == nil:
		f.status = StatusOK
	case errors.Is(f.cause, context.DeadlineExceeded), ctx.Err() != nil && errors.Is(f.cause, context.Canceled):
		f.status = StatusDeadline
	case overloaded(f.cause):
		f.status = StatusOverloaded
	default:
		f.status = StatusFailed
	}
	if f.status != StatusOK {
		f.hits, f.sure = nil, nil
	}
	if f.reason == "" {
		switch f.status {
		case StatusDeadline:
			f.reason = fmt.Sprintf("it did not answer within %d ms", p.timeout.Milliseconds())
		case StatusOverloaded:
			f.reason = "its queue is full; try again in a moment"
		case StatusFailed:
			f.reason = "it failed; the server's log says why"
		}
	}
	e.observer.Source(ctx, f.name, f.status, f.cause)
}

// overloaded reports whether err says that a queue was full.
func overloaded(err error) bool {
	var full interface{ Overloaded() bool }
	return errors.As(err, &full) && full.Overloaded()
}
