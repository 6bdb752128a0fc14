package overload

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// turns is a fair scheduler of processors. A turn is the use of one processor until it is given back. Within a group,
// such as the requests of one key, turns are given first come, first served. Between groups, the next turn goes to
// the group that used the least processor time lately, so that a busy group does not starve a quiet one. Within a
// second of a light group's request, heavy groups leave one processor free, because a turn cannot be preempted.
type turns struct {
	processors int
	now        func() time.Time

	mu     sync.Mutex
	free   int
	groups map[string]*turnGroup
	order  []*turnGroup // groups with waiting callers; among groups of equal use the first is next
	light  lightUse
	again  bool // a timer calls dispatch again
}

// lightUse remembers when light groups (not isHeavy) last asked for a turn: the group that asked last, when it asked
// (at), and when any other light group last asked (another). A zero time means never.
type lightUse struct {
	group       *turnGroup
	at, another time.Time
}

// noteRequest records that light group g asks for a turn now.
func (l *lightUse) noteRequest(g *turnGroup, now time.Time) {
	if l.group != g {
		l.another = l.at
		l.group = g
	}
	l.at = now
}

// lastOther returns when a light group other than g last asked for a turn; the zero time: never.
func (l *lightUse) lastOther(g *turnGroup) time.Time {
	if l.group == g {
		return l.another
	}
	return l.at
}

// turnGroup is the state of one group: its waiting callers, its running turns and its recent processor time.
type turnGroup struct {
	name    string
	waiting []chan struct{} // of callers, first come first; closed when the caller has its turn
	running int
	used    float64   // processor seconds, decayed exponentially with their age
	at      time.Time // when used was computed
}

// lately is the time constant with which a group's used processor time decays (to 1/e). For the same time after a
// light group asked, one processor is kept free of heavy groups.
const lately = time.Second

// heavyShare is the share of the recent time of all processors above which a group counts as heavy.
const heavyShare = 1. / 4

// mostGroups is the number of groups above which groups without turns and waiting callers are forgotten.
const mostGroups = 1000

// newTurns returns turns for this number of processors, all free. now returns the time.
func newTurns(processors int, now func() time.Time) turns {
	return turns{processors: processors, free: processors, now: now, groups: map[string]*turnGroup{}}
}

// takeTurn waits until a processor is free for the group of this name and takes it. Call giveBack once to free it
// again. If ctx ends first, it returns ctx's error, a nil giveBack, and no processor is held.
func (t *turns) takeTurn(ctx context.Context, name string) (giveBack func(), err error) {
	t.mu.Lock()
	g := t.groupNamed(name)
	if !t.isHeavy(g) {
		t.light.noteRequest(g, t.now())
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
		return t.startTurn(g), nil
	default:
	}
	select {
	case <-mine:
		return t.startTurn(g), nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.Index(g.waiting, mine); at >= 0 {
		g.waiting = slices.Delete(g.waiting, at, at+1)
		t.forgetIdle(g)
	} else { // it had come by then
		t.endTurn(g, 0)
	}
	return nil, ctx.Err()
}

// startTurn starts the clock of a turn that group g was given, and returns the function that ends the turn.
func (t *turns) startTurn(g *turnGroup) (giveBack func()) {
	began := t.now()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.endTurn(g, t.now().Sub(began))
	}
}

// endTurn ends a turn of group g: it adds took to the group's use and gives free processors to waiters. mu must be
// held.
func (t *turns) endTurn(g *turnGroup, took time.Duration) {
	t.decayUse(g)
	g.used += took.Seconds()
	g.running--
	t.free++
	t.dispatch()
	t.forgetIdle(g)
}

// dispatch gives each free processor to the first waiting caller of the group that nextGroup returns. mu must be held.
func (t *turns) dispatch() {
	for t.free > 0 {
		g := t.nextGroup()
		if g == nil {
			t.dispatchLater()
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

// dispatchLater lets a timer call dispatch if groups wait although a processor is free: the time for which it is kept
// ends without a call of takeTurn or endTurn. mu must be held.
func (t *turns) dispatchLater() {
	if t.again || len(t.order) == 0 {
		return
	}
	t.again = true
	time.AfterFunc(lately/4, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.again = false
		t.dispatch()
	})
}

// nextGroup returns the waiting group with the least recent use. It skips heavy groups while the last free processor is
// kept for light ones. nil: no group waits, or all that wait are skipped. mu must be held.
func (t *turns) nextGroup() (next *turnGroup) {
	for _, g := range t.order {
		kept := t.free == 1 && t.processors > 1 && t.now().Sub(t.light.lastOther(g)) < lately
		if t.isHeavy(g) && kept {
			continue
		}
		if next == nil || g.used < next.used {
			next = g
		}
	}
	return next
}

// isHeavy reports whether a group's recent use exceeds heavyShare of all processors' time. mu must be held.
func (t *turns) isHeavy(g *turnGroup) bool {
	t.decayUse(g)
	return g.used > heavyShare*float64(t.processors)*lately.Seconds()
}

// decayUse reduces a group's used processor time by the age of the value, and sets it as of now. mu must be held.
func (t *turns) decayUse(g *turnGroup) {
	now := t.now()
	g.used *= math.Exp(-now.Sub(g.at).Seconds() / lately.Seconds())
	g.at = now
}

// groupNamed returns the state of the group with this name, and creates it if there is none. mu must be held.
func (t *turns) groupNamed(name string) *turnGroup {
	g := t.groups[name]
	if g == nil {
		g = &turnGroup{name: name, at: t.now()}
		t.groups[name] = g
	}
	return g
}

// forgetIdle removes g from the order if no caller of it waits. If there are more than mostGroups groups, it also
// forgets all that have neither turns nor waiting callers. mu must be held.
func (t *turns) forgetIdle(g *turnGroup) {
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

// Waiting returns how many callers of the group with this name wait for a processor (Turn).
func (c *Control) Waiting(group string) int {
	c.turns.mu.Lock()
	defer c.turns.mu.Unlock()
	if g := c.turns.groups[group]; g != nil {
		return len(g.waiting)
	}
	return 0
}
