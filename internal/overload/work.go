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

// quietAfter is how long no search must have computed for work to be free.
const quietAfter = time.Second

// account is a caller's budget. It grows with time up to saved, and is negative after a piece of work that took more.
type account struct {
	left time.Duration
	at   time.Time
}

const saved = 100 * time.Millisecond

// newWork returns the accounts for work on this many processors, half of which it may use at a time (at least one).
func newWork(processors int) work {
	return work{
		processors: float64(processors),
		places:     make(chan struct{}, max(1, processors/2)),
		accounts:   map[string]*account{},
	}
}

// fillAccount adds what the account's share of the time has earned since the last call, up to saved. It returns how
// long it takes until a debt is paid; 0 if there is none.
func (a *account) fillAccount(now time.Time, share float64) (wait time.Duration) {
	since := min(now.Sub(a.at), time.Hour) // the first time, it is since ever
	a.left = min(a.left+time.Duration(share*float64(since)), saved)
	a.at = now
	return time.Duration(float64(max(-a.left, 0)) / share)
}

// Work calls do, which computes for caller who and waits for nothing, once that caller has no debt and one of the
// places for work is free. It charges the caller with the processor time. It returns ctx's error, without calling do,
// if ctx ends first.
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

// Read calls do, which may wait for its client meanwhile, once caller who has no debt. It takes no place, and charges
// the caller with the processor time alone. It returns ctx's error, without calling do, if ctx ends first.
func (c *Control) Read(ctx context.Context, who string, do func()) error {
	if err := c.waitForCredit(ctx, who); err != nil {
		return err
	}
	c.runCharged(who, do)
	return nil
}

// waitForCredit waits until caller who has no debt, or no search has come for quietAfter. It returns ctx's error if
// that ends first.
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

// debtTime returns how long caller who has to wait until its debt and that of all callers together are paid; 0 while no
// search has come for quietAfter.
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

// runCharged calls do and charges caller who with the processor time of its thread. It charges also if do panics.
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

// chargeAccount takes the time off the accounts of caller who and of all callers together. It does nothing while no
// search has come for quietAfter.
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
