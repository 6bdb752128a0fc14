package handlers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/overload"
	"example.org/conclave/search"
)

// resultsAPlace is the number of results, or of candidates of each source, that a search may ask for at a cost of 1.
const resultsAPlace = 100

// textsAPlace is the number of texts that are embedded at a cost of 1.
const textsAPlace = 16

// admitted is what one request occupies of the server: its place, and memory for its body and answer. It has a lock
// because a tool is called in another goroutine than the one that serves the request.
type admitted struct {
	mu        sync.Mutex
	place     *overload.Place // nil: it has none
	bodyBytes int64
	room      overload.Share // of its answer
	extra     int            // bytes of the answer for which no memory was taken yet
}

// setExtra sets the bytes of the answer, as c states them, for which the engine takes no memory.
func (held *admitted) setExtra(c Cost) {
	held.mu.Lock()
	defer held.mu.Unlock()
	held.extra = c.bytes
}

// currentPlace returns the place that the request holds; nil: none.
func (held *admitted) currentPlace() *overload.Place {
	held.mu.Lock()
	defer held.mu.Unlock()
	return held.place
}

// exchangePlace gives the request's place back, if it has one, and takes another. It returns the error of take; the
// request then has none.
func (held *admitted) exchangePlace(take func() (*overload.Place, error)) (err error) {
	held.mu.Lock()
	defer held.mu.Unlock()
	if held.place != nil {
		held.place.Leave()
	}
	held.place, err = take()
	return err
}

// admitSearch admits a search of this cost that must be answered before its deadline, and returns nil, or the problem
// that refuses it (429). It never waits: waiting would only hide the load from the caller.
func (a *API) admitSearch(ctx context.Context, cost int, deadline time.Time) *schema.Problem {
	return a.refusedBy(exchangeOf(ctx).admitted.exchangePlace(func() (*overload.Place, error) {
		return a.options.Admission.AdmitOf(exchangeOf(ctx).group, cost, deadline)
	}))
}

// holdPlaces admits a request of this cost without a deadline, and returns nil, or the problem that refuses it (429).
func (a *API) holdPlaces(ctx context.Context, cost int) *schema.Problem {
	return a.refusedBy(exchangeOf(ctx).admitted.exchangePlace(func() (*overload.Place, error) {
		return a.options.Admission.HoldOf(exchangeOf(ctx).group, cost)
	}))
}

// refusedNow returns the problem that would refuse a request of this group now, so that its body need not be read; nil:
// it would be admitted. searches says that the request is a search. It takes no place.
func (a *API) refusedNow(group string, searches bool) *schema.Problem {
	if searches {
		return a.refusedBy(a.options.Admission.Room(group))
	}
	place, err := a.options.Admission.HoldOf(group, 1)
	if err == nil {
		place.Leave()
	}
	return a.refusedBy(err)
}

// refusedBy returns the problem of an *overload.Refusal (429, with Retry-After); nil for other errors and for nil. With
// a refusal it also cuts off answers that keep a place while their clients read slowly.
func (a *API) refusedBy(err error) *schema.Problem {
	var refusal *overload.Refusal
	if !errors.As(err, &refusal) {
		return nil
	}
	a.answerMemory.GiveUpPlaces()
	p := schema.NewProblem("too_many_requests", schema.Sentence(refusal.Error()))
	p.RetryAfter = int(refusal.After / time.Second)
	return p
}

// takeBodyMemory takes memory for more bytes of the request's body before they are read. It returns nil, or the problem
// that all memory for bodies is taken (429). It does not wait.
func (a *API) takeBodyMemory(ctx context.Context, more int) *schema.Problem {
	if !a.bodyMemory.TryAcquire(int64(more)) {
		a.answerMemory.GiveUpPlaces()
		return schema.NewProblem("too_many_requests", "The bodies that are being read take all the memory that there is for them.")
	}
	held := &exchangeOf(ctx).admitted
	held.mu.Lock()
	defer held.mu.Unlock()
	held.bodyBytes += int64(more)
	return nil
}

// releaseWork gives back what a request held until its answer was made: its place and its
// body. How slowly the answer is read does not concern others then.
func (a *API) releaseWork(ctx context.Context) {
	held := &exchangeOf(ctx).admitted
	held.mu.Lock()
	defer held.mu.Unlock()
	if held.place != nil {
		held.place.Leave()
	}
	a.bodyMemory.Release(held.bodyBytes)
	held.place, held.bodyBytes = nil, 0
}

// releaseAll gives back all that a request holds.
func (a *API) releaseAll(ctx context.Context) {
	a.releaseWork(ctx)
	a.releaseAnswer(ctx)
}

// answerMemoryOf waits until there is memory for a request's answer that takes so many bytes,
// and those that it takes beside.
func (a *API) answerMemoryOf(r *http.Request) func(context.Context, int) error {
	return func(ctx context.Context, bytes int) error {
		held := &exchangeOf(r.Context()).admitted
		held.mu.Lock()
		place := held.place
		beside := held.extra
		had := held.room.Bytes() > 0
		held.mu.Unlock()
		if had { // it does not wait with what others may wait for
			return a.widen(held, held.room.Bytes()+int64(bytes))
		}
		took, err := a.waitForMemory(ctx, r, place, bytes+beside)
		held.mu.Lock()
		defer held.mu.Unlock()
		held.room = took
		return err
	}
}

// widen grows the memory of an answer that has some to so many bytes, unless it has more.
func (a *API) widen(held *admitted, bytes int64) error {
	held.mu.Lock()
	defer held.mu.Unlock()
	if bytes > held.room.Bytes() && !a.answerMemory.Resize(&held.room, bytes) {
		return noMemoryLeft()
	}
	return nil
}

// widenTo grows the memory of the answer to a request to so many bytes and what sending takes.
func (a *API) widenTo(r *http.Request, bytes int) error {
	return a.widen(&exchangeOf(r.Context()).admitted, int64(bytes)+overload.Overhead(r))
}

// waitForMemory waits until there is memory for an answer that takes so many bytes. place is
// the caller's; nil: it has none.
func (a *API) waitForMemory(
	ctx context.Context,
	r *http.Request,
	place *overload.Place,
	bytes int,
) (overload.Share, error) {
	whole := int64(bytes) + overload.Overhead(r)
	places := 0
	if place != nil {
		places = place.Cost()
		defer place.Idle()()
	}
	took, err := a.answerMemory.Take(ctx, whole, places)
	switch {
	case errors.Is(err, overload.ErrTooLarge):
		return took, schema.NewProblem(
			"answer_too_large",
			fmt.Sprintf(
				"The answer takes %d bytes while it is made, which is more than the memory for answers (limits.memory): ask for less at once.",
				whole,
			),
		)
	case errors.Is(err, overload.ErrCrowded):
		return took, noMemoryLeft()
	case errors.Is(err, context.DeadlineExceeded):
		return took, schema.NewProblem(
			"deadline",
			"The answers that are being sent take all the memory that there is for them (limits.memory), and none came free in time.",
		).Because(err)
	}
	return took, err
}

func noMemoryLeft() *schema.Problem {
	return schema.NewProblem(
		"too_many_requests",
		"The answers that are being sent take all the memory that there is for them (limits.memory).",
	)
}

// shrink gives back what an answer does not need once it is written as JSON. Where it
// needs more than was taken, and there is no more, it is a problem.
func (a *API) shrink(r *http.Request, text []byte) *schema.Problem {
	held := &exchangeOf(r.Context()).admitted
	held.mu.Lock()
	defer held.mu.Unlock()
	if !a.answerMemory.Resize(&held.room, int64(len(text))+overload.Overhead(r)) {
		return noMemoryLeft()
	}
	return nil
}

// releaseAnswer gives back the memory of an answer that has been sent.
func (a *API) releaseAnswer(ctx context.Context) {
	held := &exchangeOf(ctx).admitted
	held.mu.Lock()
	defer held.mu.Unlock()
	a.answerMemory.GiveBack(held.room)
	held.room = overload.Share{}
}

// costOf returns the cost of searches of which atOnce run at a time: that of the most
// expensive ones. The cost of one follows from its results or its candidates,
// whichever are more. An ordinary search is the unit.
func costOf(requests []search.Request, atOnce int, d search.Defaults) int {
	costs := make([]int, len(requests))
	for i, r := range requests {
		results := (cmp.Or(r.K, d.K) + r.Offset) * max(len(r.Fusion.Names), 1) * (1 + 2*max(r.Around, 0))
		if r.GroupBy != "" {
			results *= cmp.Or(max(r.GroupSize, 0), 3)
		}
		costs[i] = (max(results, cmp.Or(r.Candidates, d.Candidates)) + resultsAPlace - 1) / resultsAPlace
		if r.Answer.Wanted {
			costs[i] += costOfTexts(cmp.Or(r.Answer.Passages, cmp.Or(r.K, d.K)))
		}
	}
	slices.Sort(costs)
	total := 0
	for _, cost := range costs[max(len(costs)-atOnce, 0):] {
		total += cost
	}
	return total
}

// costOfTexts returns what it costs to encode so many texts.
func costOfTexts(n int) int { return (n + textsAPlace - 1) / textsAPlace }

// timeoutOf returns how long a search may take, with what a generator may write beside it.
func timeoutOf(r search.Request, e Engine) time.Duration {
	writing := search.WritingTime(r, e.Readers())
	if r.TimeoutMS > 0 {
		return time.Duration(r.TimeoutMS)*time.Millisecond + writing
	}
	return e.Defaults().Timeout + writing
}

// encodeInTurn writes an answer as JSON when a processor is free: that of a
// thousand passages takes milliseconds.
func (a *API) encodeInTurn(ctx context.Context, into *bytes.Buffer, answer any) error {
	done, err := a.options.Admission.Turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	into.Reset()
	return Encode(into, answer)
}
