package overload

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// work is the budget of processor time for what is not a search. While searches come, the work of one caller may use
// keyShare of the processors and that of all callers workShare. A piece of work that takes more leaves a debt, which
// its caller has to wait for. Without searches there is no limit.
type work struct {
	processors float64
	places     chan struct{} // of work that computes and waits for nothing
	searched   atomic.Int64  // Unix nanoseconds: when a search computed last

	mu       sync.Mutex
	accounts map[string]*account
	all      account
}

// The shares of the processors that the work of one caller, and that of all, may take
// while searches come.
const (
	keyShare  = 1. / 4
	workShare = 1. / 2
)

// quietAfter is the time without a search after which work needs no budget.
const quietAfter = time.Second

// account is a caller's budget. It grows with time up to saved, and is negative after a piece of work that took more.
type account struct {
	left time.Duration
	at   time.Time
}

const saved = 100 * time.Millisecond

// newWork returns the budget of work on this many processors, without debts. Work runs on half of them at a time, at
// least on one.
func newWork(processors int) work {
	return work{
		processors: float64(processors),
		places:     make(chan struct{}, max(1, processors/2)),
		accounts:   map[string]*account{},
	}
}

// fillAccount adds to an account the processor time that was earned since the last call: share times the time that
// passed. The account holds at most saved. It returns how long a debt takes to be paid at that rate; 0 if there is
// none.
func (a *account) fillAccount(now time.Time, share float64) (wait time.Duration) {
	since := min(now.Sub(a.at), time.Hour) // the first time, it is since ever
	a.left = min(a.left+time.Duration(share*float64(since)), saved)
	a.at = now
	return time.Duration(float64(max(-a.left, 0)) / share)
}

// Work waits until the caller named who has no debt and one of the places for work is free. Then it calls do in
// this goroutine, which must only compute and wait for nothing, and charges the caller with the processor time. It
// returns ctx's error, without calling do, if ctx ends first.
func (c *Control) Work(ctx context.Context, who string, do func()) error {
	if err := c.waitForCredit(ctx, who); err != nil {
		return err
	}
	select {
	case c.work.places <- struct{}{}:
		defer func() { <-c.work.places }()
	case <-ctx.Done():
		return ctx.Err()
	}
	c.runCharged(who, do)
	return nil
}

// Read waits until the caller named who has no debt, calls do in this goroutine, and charges the caller with the
// processor time. Unlike in Work, do takes no place and may wait for its client. It returns ctx's error, without
// calling do, if ctx ends first.
func (c *Control) Read(ctx context.Context, who string, do func()) error {
	if err := c.waitForCredit(ctx, who); err != nil {
		return err
	}
	c.runCharged(who, do)
	return nil
}

// waitForCredit waits until the caller named who and all callers together have no debt, or no search has come for
// quietAfter. It returns ctx's error if ctx ends first.
func (c *Control) waitForCredit(ctx context.Context, who string) error {
	for {
		wait := c.work.debtTime(who, c.now())
		if wait <= 0 {
			return ctx.Err()
		}
		select {
		case <-time.After(min(wait, quietAfter/4)): // nobody may search any more
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// debtTime returns how long the caller named who has to wait until its debt, and that of all callers together, are
// paid. It is 0 if there is no debt or no search has come for quietAfter. It credits both with the time that
// passed, and forgets a caller whose credit is full.
func (w *work) debtTime(who string, now time.Time) (wait time.Duration) {
	if w.isQuiet(now) {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if a := w.accounts[who]; a != nil {
		wait = a.fillAccount(now, keyShare*w.processors)
		if a.left >= saved {
			delete(w.accounts, who)
		}
	}
	return max(wait, w.all.fillAccount(now, workShare*w.processors))
}

// isQuiet reports whether no search has come for quietAfter, so that work needs no budget.
func (w *work) isQuiet(now time.Time) bool {
	return now.UnixNano()-w.searched.Load() > int64(quietAfter)
}

// runCharged calls do on one thread and charges the caller named who with the processor time of that thread, even if do
// panics. What do computes in other goroutines is not charged.
func (c *Control) runCharged(who string, do func()) {
	runtime.LockOSThread()
	began := threadTime()
	defer func() {
		took := threadTime() - began
		runtime.UnlockOSThread()
		c.work.chargeAccount(who, took, c.now())
	}()
	do()
}

// chargeAccount subtracts processor time from the account of the caller named who and from that of all callers
// together. It does nothing if no search has come for quietAfter.
func (w *work) chargeAccount(who string, took time.Duration, now time.Time) {
	if w.isQuiet(now) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.accounts[who]
	if a == nil {
		a = &account{left: saved, at: now}
		w.accounts[who] = a
	}
	a.left -= took
	w.all.left -= took
}
