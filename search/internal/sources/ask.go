package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/identity"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// Inquiry is a checked question, and which sources are asked it in which way.
type Inquiry struct {
	Question        string
	Words           string   // the question with synonyms of its words behind it
	Before          []string // the earlier messages of a conversation, oldest first
	Message         string   // the message that a model rewrote as Question; "": Question is as it was asked
	Correct         bool     // misspelt words are corrected
	Prefix          bool     // the last word goes on: it is completed
	Collapse        bool     // of passages with the same title and text only one is a hit
	Candidates      int      // the number of hits wanted of each source
	Exact           bool     // vectors are searched exhaustively, without an approximate index
	Filter          storage.Filter
	Timeout         time.Duration  // the time of the request, as messages name it
	Wanted          []int          // the sources to ask: indexes of Panel.Sources, ascending
	Unused          map[int]string // the experts of Wanted that are not asked, and the reason, for users
	AnyLanguage     bool           // experts are asked in languages that they do not read, too: the request names them
	AllLate         bool           // not one source of late interaction is asked, but all: FindingsOf leaves one
	Confidence      bool           // a method needs the experts' confidences
	MostSpecialists int            // the number of specialists that a gate weighs and, if ChosenOnly, are asked; 0: all
	ChosenOnly      bool           // no method needs more specialists than the MostSpecialists most familiar ones
	Reranks         bool           // a reranker needs time after the sources
	Reads           bool           // a reader needs time after the sources
	Writes          bool           // a generator needs time after the sources
	// the time that a generator has in addition to Timeout
	WritingTime time.Duration
}

// Findings are the results of all sources for an inquiry, and the view that they searched.
type Findings struct {
	Panel   *Panel
	Inquiry Inquiry
	// the snapshot that all sources search
	View       *snapshot.PinnedView
	duplicates *duplicates    // the copies among the hits; nil: copies are not looked for
	asked      []int          // the sources of Wanted that the collection has: indexes of Panel.Sources
	encodings  []encoding     // by Dense.encoder
	answers    chan Finding   // has room for all, so that a send never blocks
	All        []Finding      // one for each of asked, in its order
	Refused    *fault.Error   // the filter does not fit the collection's fields, so no source was asked; nil: it fits
	language   string         // the code of the question's language; "": not known
	languages  []string       // those of the collection, the most frequent first; nil: not known
	unread     map[int]string // sources that do not read the question or the passages, and the reason, for users
	// wordsFound has the hits of BM25 over words; nil until they are there
	wordsFound  atomic.Pointer[[]rank.Ordinal]
	sourceEnded func() // tells a storage.SearchBatcher that a source has ended
}

// Ask puts an inquiry to all its sources in parallel and returns one finding for each, when all have answered or ctx is
// done. A source that has not answered by then has StatusDeadline; it ends later and then releases the view. It narrows
// view to the filter first. If the filter does not fit the fields of the collection, it sets Refused and asks no
// source; if the filter cannot be evaluated otherwise, all findings failed. It reports the status of each.
func (p *Panel) Ask(ctx context.Context, q Inquiry, view *snapshot.PinnedView) *Findings {
	found := &Findings{Panel: p, Inquiry: q, View: view, encodings: make([]encoding, len(p.Experts)),
		asked: make([]int, 0, len(q.Wanted)), All: make([]Finding, 0, len(q.Wanted))}
	found.tellLanguages(ctx, view)
	found.Inquiry.Words = withoutFunctionWords(q.Words, found.language)
	found.Inquiry.Unused = found.unusedReasons(&q)
	err := Narrow(ctx, p.Run, view, q.Filter)
	for _, at := range q.Wanted {
		if source := p.Sources[at]; source.isAvailable(view.Narrowed) {
			found.asked = append(found.asked, at)
			found.All = append(found.All, Finding{Source: source, At: at, Status: reply.StatusDeadline})
		}
	}
	if err != nil {
		found.Refused = storage.Refusal(err)
		if found.Refused == nil {
			found.failAll(ctx, err)
		}
		return found
	}
	found.duplicates = duplicatesIn(view, q)
	found.answers = make(chan Finding, len(found.asked))
	specialists := p.Specialists(&found.Inquiry)
	found.announceSearches(specialists)
	waiting := 0
	for i, at := range found.asked {
		if reason := found.Inquiry.Unused[at]; reason != "" {
			found.All[i].Status = reply.StatusSkipped
			found.All[i].Reason = reason
			continue
		}
		waiting++
		if !slices.Contains(specialists, at) {
			found.askInBackground(ctx, at)
		}
	}
	if specialists != nil {
		found.holdView()
		go found.askFamiliar(ctx, specialists)
	}
	for waiting > 0 {
		select {
		case f := <-found.answers:
			found.All[slices.Index(found.asked, f.At)] = f
			waiting--
			continue
		case <-ctx.Done():
		}
		// What arrived at the same moment still counts.
		select {
		case f := <-found.answers:
			found.All[slices.Index(found.asked, f.At)] = f
			waiting--
		default:
			waiting = 0
		}
	}
	for i := range found.All {
		found.setStatus(ctx, &found.All[i])
	}
	if err := found.mergeCopies(); err != nil {
		found.Panel.Run.Report.Source(ctx, "", reply.StatusFailed, fmt.Errorf("telling copies: %w", err))
	}
	return found
}

// Narrow restricts a view to the passages that match filter f and the context's restriction (identity.Restrict). It
// waits for a processor, since a filter may have thousands of values. It fails if ctx ends first or the filter cannot
// be applied.
func Narrow(ctx context.Context, r run.Runner, view *snapshot.PinnedView, f storage.Filter) error {
	if f.Empty() && !identity.IsRestricted(ctx) {
		return nil
	}
	return r.Compute(ctx, func(ctx context.Context) error { return view.Narrow(ctx, f) })
}

// announceSearches tells a store that batches searches (storage.SearchBatcher) how many sources will search at the same
// time, and sets p.sourceEnded. It counts neither skipped sources, nor late interaction, nor the specialists, of which
// it is not known yet which are asked. p.sourceEnded has to be called once for each of these sources; it does nothing
// if the store does not batch.
func (p *Findings) announceSearches(specialists []int) {
	p.sourceEnded = func() {}
	g, ok := p.View.Narrowed.(storage.SearchBatcher)
	if !ok {
		return
	}
	n := 0
	for _, at := range p.asked {
		if p.Inquiry.Unused[at] == "" && !slices.Contains(specialists, at) && p.Panel.Sources[at].Kind() != reply.KindLate {
			n++
		}
	}
	p.sourceEnded = g.Gather(n)
}

// askInBackground asks the source at an index of Panel.Sources in a goroutine, which sends the finding to p.answers.
func (p *Findings) askInBackground(ctx context.Context, at int) {
	p.holdView()
	go func() {
		defer p.releaseView()
		f := Finding{Source: p.Panel.Sources[at], At: at}
		f.Cause = run.Guard(func() error { return f.Source.ask(ctx, p, &f) })
		if f.Source.Kind() != reply.KindLate {
			p.sourceEnded()
		}
		p.answers <- f
	}()
}

// holdView marks the start of work that may outlive the request: it keeps the view open and the line-up in use until
// releaseView is called.
func (p *Findings) holdView() { p.View.Hold(); p.Panel.Users.Hold() }

// releaseView marks the end of work that began with holdView.
func (p *Findings) releaseView() { p.View.Release(); p.Panel.Users.Leave() }

// setStatus sets the status of a finding by its cause, and a reason for users, and reports both to the observer. It
// removes the hits if the status is not StatusOK. A finding whose status is still StatusDeadline never arrived; a
// skipped one stays as it is.
func (p *Findings) setStatus(ctx context.Context, f *Finding) {
	switch {
	case f.Status == reply.StatusSkipped:
		return
	case f.Status == reply.StatusDeadline:
		f.Cause = context.DeadlineExceeded
	case f.Cause == nil:
		f.Status = reply.StatusOK
	case errors.Is(f.Cause, context.DeadlineExceeded), ctx.Err() != nil && errors.Is(f.Cause, context.Canceled):
		f.Status = reply.StatusDeadline
	case run.Overloaded(f.Cause):
		f.Status = reply.StatusOverloaded
	default:
		f.Status = reply.StatusFailed
	}
	if f.Status != reply.StatusOK {
		f.Hits, f.Sure = nil, nil
	}
	if advice := run.AdviceOf(f.Cause); f.Reason == "" && advice != "" {
		switch f.Status {
		case reply.StatusFailed:
			f.Reason = "it failed: " + advice
		case reply.StatusOverloaded:
			f.Reason = advice
		}
	}
	if f.Reason == "" {
		switch f.Status {
		case reply.StatusDeadline:
			f.Reason = fmt.Sprintf("it did not answer within %g ms", run.Milliseconds(p.Inquiry.Timeout))
		case reply.StatusOverloaded:
			f.Reason = "its queue is full; try again in a moment"
		case reply.StatusFailed:
			f.Reason = "it failed; the server's log says why"
		}
	}
	p.Panel.Run.Report.Source(ctx, f.Source.Name(), f.Status, f.Cause)
}

// failAll sets the status and reason of every finding for cause, the error with which the filter could not be
// evaluated, and reports them. The status follows from cause, such as StatusDeadline after a deadline.
func (p *Findings) failAll(ctx context.Context, cause error) {
	for i := range p.All {
		f := &p.All[i]
		f.Status, f.Cause = "", cause
		p.setStatus(ctx, f)
		if f.Status == reply.StatusFailed {
			f.Reason = "the passages that the filter lets through could not be selected; the server's log says why"
		}
	}
}

// runSearch waits for a turn to compute, runs step as the search stage of a source, and stores its time in
// f.Took.Search. It returns the error of step, or ctx's if there was no turn in time.
func runSearch(ctx context.Context, r run.Runner, f *Finding, step func(context.Context) error) error {
	return r.Compute(ctx, func(ctx context.Context) error {
		return r.Stage(ctx, f.Source.Name(), run.StageSearch, &f.Took.Search, func() error { return step(ctx) })
	})
}

// checkHits returns an error if a hit has a score that is not finite, or an ordinal of at least passages. It sorts hits
// that are out of order in place.
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

// FindingsOf returns the findings of the sources that the inquiry by wants, in their order; sources that it does not
// use are marked as skipped. by has to want a subset of what p asked.
func (p *Findings) FindingsOf(by *Inquiry) []Finding {
	own := make([]Finding, 0, len(by.Wanted))
	reasons := p.unusedReasons(by)
	for _, f := range p.All {
		if !slices.Contains(by.Wanted, f.At) {
			continue
		}
		if reason := reasons[f.At]; reason != "" {
			f = Finding{Source: f.Source, At: f.At, Status: reply.StatusSkipped, Reason: reason}
		}
		own = append(own, f)
	}
	return own
}

// CheckAnswered returns nil if one of the findings is StatusOK, other than one that only scores what others found.
// Otherwise it returns a *fault.Error with the reasons: of kind Deadline, Overloaded or Unavailable.
func (p *Findings) CheckAnswered(findings []Finding) error {
	var deadline, full, other int
	var causes []error
	reasons := ""
	for _, f := range findings {
		switch f.Status {
		case reply.StatusOK:
			if !f.Follows {
				return nil
			}
			continue
		case reply.StatusSkipped:
			continue
		case reply.StatusDeadline:
			deadline++
		case reply.StatusOverloaded:
			full++
		default:
			other++
		}
		causes = append(causes, fmt.Errorf("%s: %w", f.Source.Name(), f.Cause))
		reasons += fmt.Sprintf("; %s: %s", f.Source.Name(), f.Reason)
	}
	err := &fault.Error{Err: errors.Join(causes...)}
	switch {
	case deadline > 0 && other == 0 && deadline >= full:
		err.Kind = fault.Deadline
		err.Code = "deadline"
		err.Detail = fmt.Sprintf("no source answered within %g ms", run.Milliseconds(p.Inquiry.Timeout)) + reasons
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

// RestrictTo replaces the hits of every source that answered by the passages that choose returns, with the source's
// scores; those that it has no vector of are left out. choose gets the hits of BM25 over words; they are nil if it was
// not asked. It fails if choose does, or if a source cannot score the passages. With an error, some findings may be
// changed already. Findings that did not answer stay as they are.
func (p *Findings) RestrictTo(ctx context.Context, choose func([]rank.Hit) ([]rank.Ordinal, error)) error {
	var words []rank.Hit
	for i := range p.All {
		if f := &p.All[i]; f.Source.Name() == reply.WordSource {
			words = f.Hits
		}
	}
	chosen, err := choose(words)
	if err != nil {
		return err
	}
	scores := make([]float32, len(chosen))
	for i := range p.All {
		f := &p.All[i]
		if f.Status != reply.StatusOK {
			continue // for evidence to say
		}
		if err := run.Guard(func() error { return f.Score(ctx, chosen, scores) }); err != nil {
			return fmt.Errorf("source %s: %w", f.Source.Name(), err)
		}
		f.Hits = make([]rank.Hit, 0, len(chosen))
		f.Members = nil
		f.Follows = false
		for n, o := range chosen {
			if scores[n] != rank.NoVector {
				f.Hits = append(f.Hits, rank.Hit{Ordinal: o, Score: scores[n]})
			}
		}
		slices.SortFunc(f.Hits, func(a, b rank.Hit) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Ordinal, b.Ordinal))
		})
	}
	return nil
}
