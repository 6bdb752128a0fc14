package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/access"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/storage"
)

// inquiry is what is asked of the sources.
type inquiry struct {
	question   string
	before     []string // what was asked before in a conversation
	message    string   // of a conversation, that a model made the question of; "": none was made
	correct    bool     // where it is mistyped
	collapse   bool     // copies count once
	candidates int
	exact      bool
	filter     storage.Filter
	timeout    time.Duration
	wanted     []int          // into the line-up's sources, ascending
	unused     map[int]string // of these, the experts that no method has a use for, and why
	confidence bool           // a method needs the experts' confidences
	most       int            // specialists that are asked, where chosenOnly, and that a gate weighs; 0: all
	chosenOnly bool           // no method needs more specialists than those
	reranks    bool           // a reranker needs time behind the sources
	reads      bool           // a reader needs time behind the sources
	writes     bool           // and a generator half of all
	writing    time.Duration  // that a generator has beside all that
}

// pass puts an inquiry to its sources once: for a search, for several searches that are
// compared, or for calibration. Its findings serve any number of plans.
type pass struct {
	*lineUp
	inquiry
	view        *snapshot.Pinned
	duplicates  *duplicates  // that the sources found; nil: each passage counts for itself
	corrections []Correction // of the question that was asked for
	words       string       // the question, and what its words stand for
	synonyms    []Used       // that were added
	part        string       // of a question that was asked for; "": the question
	earlier     *pass        // the question behind those before it in its conversation; nil: there are none
	asked       []int        // the sources that are there, into the line-up's
	encodings   []encoding
	answers     chan finding // nobody ever waits to send
	searched    time.Time    // when all but writing has to be done
	findings    []finding    // of those asked, in their order
	refused     *fault.Error // what is wrong with the filter, as the corpus sees it
	left        func()       // tells a Gathering that a source has ended
}

// ask puts an inquiry to all its sources in parallel. It returns one finding for each, at
// the latest when ctx is done. Sources that have not answered by then are left out. They
// end later and release the view.
func (l *lineUp) ask(ctx context.Context, q inquiry, view *snapshot.Pinned) *pass {
	p := &pass{lineUp: l, inquiry: q, view: view, encodings: make([]encoding, len(l.experts)),
		asked: make([]int, 0, len(q.wanted)), findings: make([]finding, 0, len(q.wanted))}
	p.words, p.synonyms = synonymous(q.question, l.defaults.Synonyms)
	err := l.narrow(ctx, view, q.filter)
	for _, at := range q.wanted {
		if source := l.sources[at]; source.available(view.Narrowed) {
			p.asked = append(p.asked, at)
			p.findings = append(p.findings, finding{source: source, at: at, status: StatusDeadline})
		}
	}
	if err != nil {
		p.refused = storage.Refusal(err)
		if p.refused == nil {
			p.failAll(ctx, err)
		}
		return p
	}
	p.duplicates = duplicatesIn(view, q)
	p.answers = make(chan finding, len(p.asked))
	specialists := l.specialists(&q)
	p.gather(specialists)
	waiting := 0
	for i, at := range p.asked {
		if reason := p.unused[at]; reason != "" {
			p.findings[i].status, p.findings[i].reason = StatusSkipped, reason
			continue
		}
		waiting++
		if !slices.Contains(specialists, at) {
			p.start(ctx, at)
		}
	}
	if specialists != nil {
		p.begin()
		go p.askFamiliar(ctx, specialists)
	}
	for waiting > 0 {
		select {
		case f := <-p.answers:
			p.findings[slices.Index(p.asked, f.at)] = f
			waiting--
			continue
		case <-ctx.Done():
		}
		// What arrived at the same moment still counts.
		select {
		case f := <-p.answers:
			p.findings[slices.Index(p.asked, f.at)] = f
			waiting--
		default:
			waiting = 0
		}
	}
	for i := range p.findings {
		p.setStatus(ctx, &p.findings[i])
	}
	if err := p.mergeCopies(); err != nil {
		p.observer.Source(ctx, "", StatusFailed, fmt.Errorf("telling copies: %w", err))
	}
	return p
}

// narrow restricts a view to the passages that match filter f and the context's restriction (Restrict). It waits for
// a processor, since a filter may have thousands of values. It fails if ctx ends first or the filter cannot be applied.
func (l *lineUp) narrow(ctx context.Context, view *snapshot.Pinned, f storage.Filter) error {
	if f.Empty() && access.Restriction(ctx) == nil {
		return nil
	}
	return l.Compute(ctx, func(ctx context.Context) error { return view.Narrow(ctx, f) })
}

// gather tells a store that asks for it (Gathering) how many sources will search at the same time.
func (p *pass) gather(specialists []int) {
	p.left = func() {}
	g, ok := p.view.Narrowed.(storage.Gathering)
	if !ok {
		return
	}
	n := 0
	for _, at := range p.asked {
		if p.unused[at] == "" && !slices.Contains(specialists, at) && p.sources[at].kind() != KindLate {
			n++
		}
	}
	p.left = g.Gather(n)
}

// start asks one source.
func (p *pass) start(ctx context.Context, at int) {
	p.begin()
	go func() {
		defer p.end()
		f := finding{source: p.sources[at], at: at}
		f.cause = run.Guard(func() error { return f.source.ask(ctx, p, &f) })
		if f.source.kind() != KindLate {
			p.left()
		}
		p.answers <- f
	}()
}

// begin and end surround work that may outlive the request. Whoever waits for the line-up
// waits for that work.
func (p *pass) begin() { p.view.Hold(); p.hold() }

func (p *pass) end() { p.view.Release(); p.leave() }

// setStatus gives a finding its status and tells the observer. A finding whose
// status is still "deadline" never arrived.
func (p *pass) setStatus(ctx context.Context, f *finding) {
	switch {
	case f.status == StatusSkipped:
		return
	case f.status == StatusDeadline:
		f.cause = context.DeadlineExceeded
	case f.cause == nil:
		f.status = StatusOK
	case errors.Is(f.cause, context.DeadlineExceeded), ctx.Err() != nil && errors.Is(f.cause, context.Canceled):
		f.status = StatusDeadline
	case run.Overloaded(f.cause):
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
			f.reason = fmt.Sprintf("it did not answer within %g ms", run.Milliseconds(p.timeout))
		case StatusOverloaded:
			f.reason = "its queue is full; try again in a moment"
		case StatusFailed:
			f.reason = "it failed; the server's log says why"
		}
	}
	p.observer.Source(ctx, f.source.name(), f.status, f.cause)
}

// failAll fails every source if the filter could not be evaluated.
func (p *pass) failAll(ctx context.Context, cause error) {
	for i := range p.findings {
		f := &p.findings[i]
		f.status, f.cause = "", cause
		p.setStatus(ctx, f)
		if f.status == StatusFailed {
			f.reason = "the passages that the filter lets through could not be selected; the server's log says why"
		}
	}
}

// pin pins the newest generation for a request, which unpins it.
func (e *Engine) pin() *snapshot.Pinned {
	return snapshot.Pin(e.corpus.Acquire(), e.current.Load().defaults.Fields)
}

// runSearch runs the search of a source as a stage, with a turn.
func runSearch(ctx context.Context, r run.Runner, f *finding, step func(context.Context) error) error {
	return r.Compute(ctx, func(ctx context.Context) error {
		return r.Stage(ctx, f.source.name(), StageSearch, &f.took.Search, func() error { return step(ctx) })
	})
}

// checkHits refuses hits that no fusion can use: a score that is not finite, a passage
// that does not exist. It sorts hits that are out of order.
func checkHits(hits []rank.Hit, passages int) error {
	for _, h := range hits {
		if int64(h.Ordinal) >= int64(passages) {
			return fmt.Errorf("the source returned passage %d of %d", h.Ordinal, passages)
		}
	}
	if !slices.IsSortedFunc(hits, func(a, b rank.Hit) int { return cmp.Compare(b.Score, a.Score) }) {
		rank.Sort(hits)
	}
	return fusion.CheckHits(hits)
}
