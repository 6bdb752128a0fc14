// Package overload protects a server from overload: from more requests than can be answered in
// time, more connections than may be open, more memory of answers than there is, and from clients
// that are too slow.
//
//   - Control admits requests (Admit), refuses the others at once or lets them wait (AwaitOf), and lets no more work
//     run at a time than there are processors (Turn, Work). The front end asks once for each request, before
//     it decodes or searches anything. A refusal needs no turn, so it waits at most for what is
//     running.
//   - Connections bounds how many connections are open; Listener gives them places.
//   - AnswerMemory bounds what answers take together until they have been sent.
//   - A client that keeps others waiting loses its place or its memory. Pace and Connection say how
//     long a client may take to send, AnswerMemory how long to read; SlowError is the error.
package overload

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"example.org/conclave/internal/identity"
)

// Control admits requests so that the total of their costs stays within a limit and they can be answered in time. A
// request of ordinary size costs 1. Its methods are safe for concurrent use.
type Control struct {
	most  int // cost admitted at a time, whatever is expected
	few   int // cost that is admitted whatever is expected
	turns turns
	work  work
	now   func() time.Time

	mu       sync.Mutex
	admitted int            // cost of all that is here
	working  int            // of it, what does not wait for something that nobody computes
	groups   map[string]int // cost of those that are here, by their group
	waiting  []*waiter      // requests that wait for a place (AwaitOf), the first one first
	// seconds that one unit of cost waits for each unit admitted with it or before; 0: nothing was measured
	unit float64
}

// fewPerProcessor is how much is admitted for each processor whatever was
// measured, so that what a lone request takes never is the measure for all.
const fewPerProcessor = 4

// recent is the share of the newest measurement in the average.
const recent = 1. / 16

// wait is the greatest expected time with which a request is admitted, so that what is admitted is done soon after a
// flood ends.
const wait = 500 * time.Millisecond

// New returns a Control that admits requests with a total cost of at most `most`, on this many processors. It fails
// if one of both is below 1. now returns the time.
func New(most, processors int, now func() time.Time) (*Control, error) {
	if most < 1 || processors < 1 {
		return nil, fmt.Errorf("admission: a cost of %d on %d processors: both must be at least 1", most, processors)
	}
	return &Control{
		most:   most,
		groups: map[string]int{},
		few:    min(most, fewPerProcessor*processors),
		turns:  newTurns(processors, now),
		now:    now,
		work:   newWork(processors),
	}, nil
}

// Refusal is the error of a request that was not admitted, because the server could not do it in time.
type Refusal struct {
	Admitted int           // cost admitted and not done
	Expected time.Duration // that the request would have taken; 0 where it was not the reason
	Share    int           // that the group of the request has of it; 0: that was not the reason
	After    time.Duration // when to try again
}

// Error says why the request is refused: the expected time, else the caller's share, else the number of requests.
func (r *Refusal) Error() string {
	if r.Expected > 0 {
		return fmt.Sprintf("the server would need %v to begin this, after what is waiting", r.Expected.Round(time.Millisecond))
	}
	if r.Share > 0 {
		return fmt.Sprintf("the server works on as much of your requests as of one caller while others ask (%d)", r.Share)
	}
	return fmt.Sprintf("the server works on as many requests as it takes at a time (%d)", r.Admitted)
}

// Admit admits a request, or returns a *Refusal at once if its cost would exceed the limit, or if it is expected to
// take more than half of the time until deadline, or half a second. The expected time is a moving average of earlier
// requests per unit of admitted cost. A request that is alone is always admitted. A cost above the limit counts as the
// limit. Call Leave of the place when the answer is computed.
func (c *Control) Admit(cost int, deadline time.Time) (*Admission, error) {
	return c.AdmitOf("", cost, deadline)
}

// AdmitOf admits or refuses a request of a group, such as a collection; "" is no group. It refuses with a *Refusal, at
// once, what Admit would refuse: a cost above what is free, or too long a wait expected before the deadline. When more
// than half of the total cost is in use, it also refuses a group's request above the group's share: the total divided
// by the number of groups with admitted requests, or seven eighths of it for a group that is alone. Requests within the
// group's share of the cost that is always admitted (few) are not refused for the expected time, however much others
// have to do. Call Leave of the place when the answer is computed.
func (c *Control) AdmitOf(group string, cost int, deadline time.Time) (*Admission, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	place := &Admission{control: c, group: group, cost: min(max(cost, 1), c.most), began: c.now(), measured: true}
	if err := c.refusalFor(group, place.cost, deadline.Sub(place.began)); err != nil {
		return nil, err
	}
	c.countCost(place)
	return place, nil
}

// A waiter is a request that waits for a place. place is set, and ready closed, when it has one.
type waiter struct {
	place *Admission
	ready chan struct{}
}

// AwaitOf admits a request of a group, and lets one that AdmitOf would refuse queue for half of the time until its
// deadline. It returns a *Refusal after that time, or at once if the requests before it are expected to take longer. It
// returns ctx's error if ctx ends first. Call Leave of the place when the answer is computed.
func (c *Control) AwaitOf(ctx context.Context, group string, cost int, deadline time.Time) (*Admission, error) {
	place := &Admission{control: c, group: group, cost: min(max(cost, 1), c.most), began: c.now(), measured: true}
	patience := deadline.Sub(place.began) / 2
	w, err := c.admitOrQueue(place, patience)
	if w == nil {
		return place, err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-w.ready:
		return place, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.Index(c.waiting, w)
	if at < 0 { // it got the place at this moment
		return place, nil
	}
	c.waiting = slices.Delete(c.waiting, at, at+1)
	if err == nil {
		expected := c.expectedTime(place.cost)
		err = &Refusal{Admitted: c.admitted, Expected: max(expected, time.Millisecond), After: retryAfter(expected)}
	}
	return nil, err
}

// admitOrQueue admits a request now and returns nil, or queues it and returns its waiter. It returns a *Refusal and
// no waiter if the requests before it are expected to take longer than patience.
func (c *Control) admitOrQueue(place *Admission, patience time.Duration) (*waiter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 && c.refusalFor(place.group, place.cost, 2*wait) == nil {
		c.countCost(place)
		return nil, nil
	}
	if expected := c.expectedTime(place.cost); expected > patience || patience <= 0 {
		return nil, &Refusal{
			Admitted: c.admitted, Expected: max(expected, time.Millisecond), After: retryAfter(expected),
		}
	}
	w := &waiter{place: place, ready: make(chan struct{})}
	c.waiting = append(c.waiting, w)
	return w, nil
}

// expectedTime returns how long a request of this cost would take behind all that is admitted and waits. mu must be
// held.
func (c *Control) expectedTime(cost int) time.Duration {
	all := c.working + cost
	for _, w := range c.waiting {
		all += w.place.cost
	}
	return time.Duration(c.unit * float64(all) * float64(time.Second))
}

// admitWaiting admits waiting requests, the oldest first, as long as there is room. It passes over a request whose
// group already has its share. mu must be held.
func (c *Control) admitWaiting() {
	c.waiting = slices.DeleteFunc(c.waiting, func(w *waiter) bool {
		if c.refusalFor(w.place.group, w.place.cost, 2*wait) != nil {
			return false
		}
		w.place.began = c.now()
		c.countCost(w.place)
		close(w.ready)
		return true
	})
}

// Room returns a *Refusal if a request of this group with cost 1 would be refused now, however much time it has; nil if
// not. Call it before reading a request's body. It takes no place. "" is no group.
func (c *Control) Room(group string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refusalFor(group, 1, 2*wait)
}

// refusalFor returns the *Refusal of a request of this group and cost that has this much time left; nil: it is
// admitted. mu must be held.
func (c *Control) refusalFor(group string, cost int, left time.Duration) error {
	beside := c.working + cost
	expected := time.Duration(c.unit * float64(beside) * float64(time.Second))
	allowed := min(left/2, wait)
	if err := c.refusalOfShare(group, cost); err != nil {
		return err
	}
	if group != "" && c.groups[group]+cost <= c.few/c.groupsWith(group) && allowed > 0 && c.admitted+cost <= c.most {
		return nil
	}
	switch {
	case c.admitted+cost > c.most:
		return &Refusal{Admitted: c.admitted, After: retryAfter(expected)}
	case c.working > 0 && (allowed <= 0 || beside > c.few && expected > allowed):
		return &Refusal{Admitted: c.admitted, Expected: max(expected, time.Millisecond), After: retryAfter(expected)}
	}
	return nil
}

// Hold admits a request that may take any time, such as a batch or a write, or returns a *Refusal at once. Leave gives
// the place back. Until then its cost, at most the limit, counts against the total and for the expected time of others;
// how long it takes is not measured.
func (c *Control) Hold(cost int) (*Admission, error) { return c.HoldOf("", cost) }

// HoldOf admits a request of a group that may take any time (Hold), if there is room for its cost; Leave gives the
// place back. Otherwise it returns a *Refusal at once: the total cost would exceed the limit, or the group its share
// (AdmitOf). A cost above the limit counts as the limit.
func (c *Control) HoldOf(group string, cost int) (*Admission, error) {
	place := &Admission{control: c, group: group, cost: min(max(cost, 1), c.most)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refusalOfShare(group, place.cost); err != nil {
		return nil, err
	}
	if c.admitted+place.cost > c.most {
		return nil, &Refusal{Admitted: c.admitted, After: time.Second}
	}
	c.countCost(place)
	return place, nil
}

// keptForOthers is the part of the total cost that stays free for others while one group alone has requests.
const keptForOthers = 1. / 8

// groupsWith returns the number of groups with admitted requests, counting this group too. mu must be held.
func (c *Control) groupsWith(group string) int {
	if c.groups[group] > 0 {
		return len(c.groups)
	}
	return len(c.groups) + 1
}

// refusalOfShare returns a *Refusal if a request would give its group more than its share (AdmitOf); nil if not, and
// for the group "". mu must be held.
func (c *Control) refusalOfShare(group string, cost int) error {
	if group == "" || c.admitted+cost <= c.most/2 || c.groups[group] == 0 {
		return nil
	}
	share := c.most - int(keptForOthers*float64(c.most))
	if n := c.groupsWith(group); n > 1 {
		share = max(c.most/n, 1)
	}
	if c.groups[group]+cost <= share {
		return nil
	}
	return &Refusal{Admitted: c.admitted, Share: share, After: time.Second}
}

// countCost counts the cost of an admitted request. mu must be held.
func (c *Control) countCost(p *Admission) {
	c.admitted += p.cost
	c.working += p.cost
	p.beside = c.working
	if p.group != "" {
		c.groups[p.group] += p.cost
	}
}

// Admission is the cost that one admitted request occupies until Leave. Its methods are not safe for concurrent use.
type Admission struct {
	control      *Control
	group        string
	cost, beside int
	began        time.Time
	measured     bool
}

// Cost returns the cost that the request counts as: at least 1, and at most what is admitted at a time.
func (p *Admission) Cost() int { return p.cost }

// Idle says that the request now waits for something that needs no processor, such as memory or a slow reader. Call
// goOn once when it continues, before Leave. The time between is not measured, and the request's cost does not
// delay others in it.
func (p *Admission) Idle() (goOn func()) {
	c := p.control
	began := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working -= p.cost
	c.admitWaiting()
	return func() {
		p.began = p.began.Add(c.now().Sub(began))
		c.mu.Lock()
		defer c.mu.Unlock()
		c.working += p.cost
	}
}

// Leave gives the place back. Call it once, when the answer is computed and before it is sent, so that the measured
// time does not include the client's reading.
func (p *Admission) Leave() {
	c := p.control
	took := c.now().Sub(p.began).Seconds() / float64(p.beside)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.admitted -= p.cost
	c.working -= p.cost
	if p.group != "" {
		c.groups[p.group] -= p.cost
		if c.groups[p.group] == 0 {
			delete(c.groups, p.group)
		}
	}
	switch {
	case !p.measured:
	case c.unit == 0:
		c.unit = took
	default:
		c.unit += recent * (took - c.unit)
	}
	c.admitWaiting()
}

// retryAfter returns the Retry-After of a refusal: the expected time rounded up to whole seconds, at least one.
func retryAfter(expected time.Duration) time.Duration {
	return max(time.Duration(math.Ceil(expected.Seconds()))*time.Second, time.Second)
}

// Turn waits until a processor is free for the group of ctx (identity.WithGroup) and takes it. Call done once,
// soon, to give it back. It returns ctx's error, and a nil done, if ctx ends first. While it has a turn, a caller
// must not wait for anything, least of all for another turn. A Turn counts as a search, which limits Work.
func (c *Control) Turn(ctx context.Context) (done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.work.searched.Store(c.now().UnixNano())
	return c.turns.takeTurn(ctx, identity.Of(ctx).Group)
}

// Most returns the cost that is admitted at a time.
func (c *Control) Most() int { return c.most }
