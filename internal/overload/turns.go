package overload

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// turns hands out the processors. Callers of one group, such as a key, wait for each other in their order.
// Of groups, the one is next that has used the least processor time lately, so that one which asks for much
// does not keep another one waiting. While groups come that use little, those that use much leave one
// processor free for them: a turn cannot be taken back, and what costs much may have long ones.
type turns struct {
	processors int
	now        func() time.Time

	mu     sync.Mutex
	free   int
	groups map[string]*turnGroup
	order  []*turnGroup // those of which somebody waits; of equal use the first is next
	light  lightUse
}

// lightUse is when groups that use little asked for a turn last: one of them, and any other one before.
type lightUse struct {
	of          *turnGroup
	at, another time.Time
}

// note notes that a group which uses little asks for a turn.
func (l *lightUse) note(g *turnGroup, now time.Time) {
	if l.of != g {
		l.another = l.at
		l.of = g
	}
	l.at = now
}

// beside returns when a group other than g, which uses little, asked for a turn last.
func (l *lightUse) beside(g *turnGroup) time.Time {
	if l.of == g {
		return l.another
	}
	return l.at
}

// turnGroup is what is known of a group that has turns, waits for some, or used some lately.
type turnGroup struct {
	name    string
	waiting []chan struct{} // in their order; closed when it is one's turn
	running int
	used    float64   // seconds of processors, fewer the longer ago
	at      time.Time // when used was as it is
}

// lately is how long it takes until what a group used counts 1/e, and how long a processor is kept for
// groups that use little after one of them came.
const lately = time.Second

// heavyShare is the share of all processors' time that a group has to use lately to count as one that
// uses much.
const heavyShare = 1. / 4

// mostGroups is how many groups are remembered beyond their use.
const mostGroups = 1000

func newTurns(processors int, now func() time.Time) turns {
	return turns{processors: processors, free: processors, now: now, groups: map[string]*turnGroup{}}
}

type groupKey struct{}

// WithGroup returns a context whose turns count as those of a group.
func WithGroup(ctx context.Context, group string) context.Context {
	return context.WithValue(ctx, groupKey{}, group)
}

func groupOf(ctx context.Context) string {
	group, _ := ctx.Value(groupKey{}).(string)
	return group
}

// take waits for a turn of a group, which giveBack ends, and returns ctx's error when that ends first.
func (t *turns) take(ctx context.Context, name string) (giveBack func(), err error) {
	t.mu.Lock()
	g := t.group(name)
	if !t.isHeavy(g) {
		t.light.note(g, t.now())
	}
	mine := make(chan struct{})
	if len(g.waiting) == 0 {
		t.order = append(t.order, g)
	}
	g.waiting = append(g.waiting, mine)
	t.dispatch()
	t.mu.Unlock()
	select {
	case <-mine:
		return t.begin(g), nil
	default:
	}
	select {
	case <-mine:
		return t.begin(g), nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.Index(g.waiting, mine); at >= 0 {
		g.waiting = slices.Delete(g.waiting, at, at+1)
		t.settle(g)
	} else { // it had come by then
		t.end(g, 0)
	}
	return nil, ctx.Err()
}

// begin returns what ends a turn that a group was given.
func (t *turns) begin(g *turnGroup) (giveBack func()) {
	began := t.now()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.end(g, t.now().Sub(began))
	}
}

// end ends a turn of a group that took so long, and hands out what is free. It expects that mu is held.
func (t *turns) end(g *turnGroup, took time.Duration) {
	t.decay(g)
	g.used += took.Seconds()
	g.running--
	t.free++
	t.dispatch()
	t.settle(g)
}

// dispatch gives the free processors to those to whom they are due. It expects that mu is held.
func (t *turns) dispatch() {
	for t.free > 0 {
		g := t.next()
		if g == nil {
			return
		}
		t.free--
		g.running++
		close(g.waiting[0])
		g.waiting = g.waiting[1:]
		at := slices.Index(t.order, g)
		t.order = slices.Delete(t.order, at, at+1)
		if len(g.waiting) > 0 {
			t.order = append(t.order, g) // behind the others
		}
	}
}

// next returns the group whose turn it is; nil: nobody waits who may have one. It expects that mu is held.
func (t *turns) next() (next *turnGroup) {
	for _, g := range t.order {
		kept := t.free == 1 && t.processors > 1 && t.now().Sub(t.light.beside(g)) < lately
		if t.isHeavy(g) && kept {
			continue
		}
		if next == nil || g.used < next.used {
			next = g
		}
	}
	return next
}

// isHeavy reports whether a group uses much. It expects that mu is held.
func (t *turns) isHeavy(g *turnGroup) bool {
	t.decay(g)
	return g.used > heavyShare*float64(t.processors)*lately.Seconds()
}

// decay lets what a group used count less by the time that has passed. It expects that mu is held.
func (t *turns) decay(g *turnGroup) {
	now := t.now()
	g.used *= math.Exp(-now.Sub(g.at).Seconds() / lately.Seconds())
	g.at = now
}

// group returns what is known of a group. It expects that mu is held.
func (t *turns) group(name string) *turnGroup {
	g := t.groups[name]
	if g == nil {
		g = &turnGroup{name: name, at: t.now()}
		t.groups[name] = g
	}
	return g
}

// settle takes a group of which nobody waits out of the order, and forgets groups that do nothing where there
// are many. It expects that mu is held.
func (t *turns) settle(g *turnGroup) {
	if len(g.waiting) == 0 {
		t.order = slices.DeleteFunc(t.order, func(other *turnGroup) bool { return other == g })
	}
	if len(t.groups) <= mostGroups {
		return
	}
	for name, other := range t.groups {
		if other.running == 0 && len(other.waiting) == 0 {
			delete(t.groups, name)
		}
	}
}

// Waiting returns how many callers wait for a turn.
func (c *Control) Waiting() (n int) {
	c.turns.mu.Lock()
	defer c.turns.mu.Unlock()
	for _, g := range c.turns.order {
		n += len(g.waiting)
	}
	return n
}
