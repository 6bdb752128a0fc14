package front

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/overload"
)

// Admission lets requests in: it gives them places, and memory for their bodies and answers.
type Admission struct {
	control      *overload.Control
	AnswerMemory *overload.AnswerMemory
	bodyMemory   *semaphore.Weighted // bytes of bodies that are being read
	bodyBytes    int64               // all that bodies may take
}

// NewAdmission returns an admission by control in which all answers and all bodies together may take so many bytes.
func NewAdmission(control *overload.Control, answerBytes, bodyBytes int64) *Admission {
	return &Admission{
		control, overload.NewAnswerMemory(answerBytes, control.Most()), semaphore.NewWeighted(bodyBytes), bodyBytes,
	}
}

// admittedRequest holds what one request occupies of the server: its place, and memory for its body and answer. It has
// a lock, since an MCP tool is called in another goroutine than the one that serves the request.
type admittedRequest struct {
	Mu        sync.Mutex
	place     *overload.Admission // nil: it has none
	bodyBytes int64
	Room      overload.Share // of its answer
	Extra     int            // bytes of the answer for which no memory was taken yet
}

// SetExtra records the bytes of the answer for which the engine takes no memory, as c states them. AnswerMemoryOf adds
// them to its first call.
func (held *admittedRequest) SetExtra(c Cost) {
	held.Mu.Lock()
	defer held.Mu.Unlock()
	held.Extra = c.bytes
}

// CurrentPlace returns the place that the request holds; nil: none.
func (held *admittedRequest) CurrentPlace() *overload.Admission {
	held.Mu.Lock()
	defer held.Mu.Unlock()
	return held.place
}

// exchangePlace gives the request's place back, if it has one, and takes another. It returns the error of take; the
// request then has none.
func (held *admittedRequest) exchangePlace(take func() (*overload.Admission, error)) (err error) {
	held.Mu.Lock()
	defer held.Mu.Unlock()
	if held.place != nil {
		held.place.Leave()
	}
	held.place, err = take()
	return err
}

// AdmitSearch admits a search of this cost that must be answered before its deadline, and returns nil, or the problem
// that refuses it (429). It never waits: waiting would only hide the load from the caller. The request's place, if it
// has one, is given back before; with a problem the request has none.
func (a *Admission) AdmitSearch(ctx context.Context, cost int, deadline time.Time) *schema.Problem {
	return a.refusedBy(ExchangeOf(ctx).Admitted.exchangePlace(func() (*overload.Admission, error) {
		return a.control.AdmitOf(ExchangeOf(ctx).Group, cost, deadline)
	}))
}

// AwaitSearch admits a search of this cost that must be answered before its deadline. One that cannot begin at once
// waits for its turn: for half of the time until the deadline, or until ctx ends. It returns nil, or the problem of the
// refusal (429) or of a deadline that passed. The request's place, if it has one, is given back before; with a problem
// the request has none.
func (a *Admission) AwaitSearch(ctx context.Context, cost int, deadline time.Time) *schema.Problem {
	err := ExchangeOf(ctx).Admitted.exchangePlace(func() (*overload.Admission, error) {
		return a.control.AwaitOf(ctx, ExchangeOf(ctx).Group, cost, deadline)
	})
	if err != nil && ctx.Err() != nil {
		return schema.NewProblem("deadline", "The time limit passed while the request waited for its turn.").Because(err)
	}
	return a.refusedBy(err)
}

// HoldPlaces admits a request of this cost without a deadline, and returns nil, or the problem that refuses it (429).
// The request's place, if it has one, is given back before; with a problem the request has none. It does not wait.
func (a *Admission) HoldPlaces(ctx context.Context, cost int) *schema.Problem {
	return a.refusedBy(ExchangeOf(ctx).Admitted.exchangePlace(func() (*overload.Admission, error) {
		return a.control.HoldOf(ExchangeOf(ctx).Group, cost)
	}))
}

// RefusedNow returns the problem that would refuse a request of this group now, so that its body need not be read; nil:
// it would be admitted. searches says that the request is a search. It takes no place.
func (a *Admission) RefusedNow(group string, searches bool) *schema.Problem {
	if searches {
		return a.refusedBy(a.control.Room(group))
	}
	place, err := a.control.HoldOf(group, 1)
	if err == nil {
		place.Leave()
	}
	return a.refusedBy(err)
}

// refusedBy returns the problem of an *overload.Refusal (429, with Retry-After); nil for other errors and for nil. With
// a refusal it also cuts off answers that keep a place while their clients read slowly.
func (a *Admission) refusedBy(err error) *schema.Problem {
	var refusal *overload.Refusal
	if !errors.As(err, &refusal) {
		return nil
	}
	a.AnswerMemory.GiveUpPlaces()
	p := schema.NewProblem("too_many_requests", schema.Sentence(refusal.Error()))
	p.RetryAfter = int(refusal.After / time.Second)
	return p
}

// TakeBodyMemory takes memory for more bytes of the request's body before they are read. It returns nil, or the problem
// that all memory for bodies is taken (429). It does not wait.
func (a *Admission) TakeBodyMemory(ctx context.Context, more int) *schema.Problem {
	if !a.bodyMemory.TryAcquire(int64(more)) {
		a.AnswerMemory.GiveUpPlaces()
		return schema.NewProblem("too_many_requests", "The request bodies that are being read take all the memory that they may have: try again in a moment.")
	}
	admitted := &ExchangeOf(ctx).Admitted
	admitted.Mu.Lock()
	defer admitted.Mu.Unlock()
	admitted.bodyBytes += int64(more)
	return nil
}

// TakeValueMemory takes memory for the parsed values of a body, at most all that there is for bodies. It returns nil,
// or the problem that others have taken it (429).
func (a *Admission) TakeValueMemory(ctx context.Context, values int) *schema.Problem {
	admitted := &ExchangeOf(ctx).Admitted
	admitted.Mu.Lock()
	left := a.bodyBytes - admitted.bodyBytes
	admitted.Mu.Unlock()
	return a.TakeBodyMemory(ctx, int(min(int64(min(values, schema.MaxValues)*valueBytes), left)))
}

// valueBytes is what a value takes in memory, about, once it is parsed: an interface, a
// place in a map with its key, or a short list.
const valueBytes = 128

// ReleaseWork gives back the request's place and the memory of its body, once its answer is made: a slow reader of the
// answer must not delay other requests.
func (a *Admission) ReleaseWork(ctx context.Context) {
	admitted := &ExchangeOf(ctx).Admitted
	admitted.Mu.Lock()
	defer admitted.Mu.Unlock()
	if admitted.place != nil {
		admitted.place.Leave()
	}
	a.bodyMemory.Release(admitted.bodyBytes)
	admitted.place, admitted.bodyBytes = nil, 0
}

// ReleaseAll gives back the request's place and the memory of its body and answer.
func (a *Admission) ReleaseAll(ctx context.Context) {
	a.ReleaseWork(ctx)
	a.ReleaseAnswer(ctx)
}

// AnswerMemoryOf returns a function that takes memory for so many bytes of a request's answer. Its first call waits for
// that memory, and for what SetExtra announced; later calls take more without waiting. It returns a problem if there is
// no memory in time, or ever, for so much; otherwise the error is its context's.
func (a *Admission) AnswerMemoryOf(r *http.Request) func(context.Context, int) error {
	return func(ctx context.Context, bytes int) error {
		admitted := &ExchangeOf(r.Context()).Admitted
		admitted.Mu.Lock()
		place := admitted.place
		beside := admitted.Extra
		had := admitted.Room.Bytes() > 0
		admitted.Mu.Unlock()
		if had { // it does not wait with what others may wait for
			return a.growAnswer(admitted, admitted.Room.Bytes()+int64(bytes))
		}
		took, err := a.waitForMemory(ctx, r, place, bytes+beside)
		admitted.Mu.Lock()
		defer admitted.Mu.Unlock()
		admitted.Room = took
		return err
	}
}

// growAnswer grows the memory that held has for its answer to this many bytes; it never shrinks it. It returns the
// problem that there is no memory left.
func (a *Admission) growAnswer(admitted *admittedRequest, bytes int64) error {
	admitted.Mu.Lock()
	defer admitted.Mu.Unlock()
	if bytes > admitted.Room.Bytes() && !a.AnswerMemory.Resize(&admitted.Room, bytes) {
		return NoMemoryLeft()
	}
	return nil
}

// GrowAnswer grows the memory of the request's answer to this many bytes and what sending them takes; it never shrinks
// it. It returns the problem that there is no memory left.
func (a *Admission) GrowAnswer(r *http.Request, bytes int) error {
	return a.growAnswer(&ExchangeOf(r.Context()).Admitted, int64(bytes)+overload.Overhead(r))
}

// waitForMemory takes memory for an answer of so many bytes and for sending it (overload.Overhead), and waits until it
// is free. The caller gives the share back to AnswerMemory. While it waits, place, if not nil, counts as idle. It
// returns a problem if the answer may never have so much, too many large answers wait already, or ctx's deadline
// passes; if ctx is cancelled, ctx's error.
func (a *Admission) waitForMemory(
	ctx context.Context,
	r *http.Request,
	place *overload.Admission,
	bytes int,
) (overload.Share, error) {
	whole := int64(bytes) + overload.Overhead(r)
	places := 0
	if place != nil {
		places = place.Cost()
		defer place.Idle()()
	}
	took, err := a.AnswerMemory.Take(ctx, whole, places)
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
		return took, NoMemoryLeft()
	case errors.Is(err, context.DeadlineExceeded):
		return took, schema.NewProblem(
			"deadline",
			"The answers that are being sent take all the memory that there is for them (limits.memory), and none came free in time.",
		).Because(err)
	}
	return took, err
}

// NoMemoryLeft returns the problem that there is no memory for an answer (429).
func NoMemoryLeft() *schema.Problem {
	return schema.NewProblem(
		"too_many_requests",
		"The answers that are being sent take all the memory that there is for them (limits.memory).",
	)
}

// ShrinkAnswer changes the memory that an answer holds to what sending its JSON takes, mostly less. If that is more, it
// takes the difference without waiting, and returns the problem that there is no memory left if it cannot.
func (a *Admission) ShrinkAnswer(r *http.Request, text []byte) *schema.Problem {
	admitted := &ExchangeOf(r.Context()).Admitted
	admitted.Mu.Lock()
	defer admitted.Mu.Unlock()
	if !a.AnswerMemory.Resize(&admitted.Room, int64(len(text))+overload.Overhead(r)) {
		return NoMemoryLeft()
	}
	return nil
}

// ReleaseAnswer gives back the memory of an answer that has been sent.
func (a *Admission) ReleaseAnswer(ctx context.Context) {
	admitted := &ExchangeOf(ctx).Admitted
	admitted.Mu.Lock()
	defer admitted.Mu.Unlock()
	a.AnswerMemory.GiveBack(admitted.Room)
	admitted.Room = overload.Share{}
}
