package overload

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestShares, by hand: of 16, one group alone has up to 14; two have half each as soon as more than half is
// taken; and what a group gives back, another one gets.
func TestShares(t *testing.T) {
	c, err := New(16, 1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	fill := func(group string) (places []*Admission) {
		for {
			p, err := c.HoldOf(group, 1)
			if err != nil {
				var refusal *Refusal
				if !errors.As(err, &refusal) {
					t.Fatal(err)
				}
				return places
			}
			places = append(places, p)
		}
	}
	a := fill("a")
	b := fill("b")
	if len(a) != 14 || len(b) != 2 {
		t.Errorf("%d and %d", len(a), len(b))
	}
	for _, p := range a[:8] {
		p.Leave()
	}
	b = append(b, fill("b")...)
	if len(b) != 8 {
		t.Errorf("of another one: %d", len(b))
	}
	if more := fill("a"); len(more) != 2 { // six are left of it, and eight are its half
		t.Errorf("%d more", len(more))
	}
	if _, err := c.Hold(1); err == nil {
		t.Error("more than all were admitted")
	}
}

// turnsAt returns turns with a clock that only advance moves.
func turnsAt(processors int) (t *turns, advance func(time.Duration)) {
	now := time.Unix(0, 0)
	made := newTurns(processors, func() time.Time { return now })
	return &made, func(d time.Duration) { now = now.Add(d) }
}

// queue starts a goroutine that takes a turn for a group and sends its name to out when it has the turn. It returns
// when the goroutine is in the queue or has its turn.
func (t *turns) queue(group, name string, out chan<- served) {
	count := func() (n int) {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, g := range t.groups {
			n += len(g.waiting) + g.running
		}
		return n
	}
	before := count()
	began := make(chan struct{})
	go func() {
		close(began)
		done, err := t.takeTurn(context.Background(), group)
		if err != nil {
			name = err.Error()
		}
		out <- served{name, done}
	}()
	<-began
	for count() == before { // else the order would be the scheduler's
		runtime.Gosched()
	}
}

// served is a turn that has come.
type served struct {
	name string
	done func()
}

// TestTurnsOfGroups: with one processor, who comes second of another group is served second, however
// many of the first group wait; within a group, it is the order of coming.
func TestTurnsOfGroups(t *testing.T) {
	turns, _ := turnsAt(1)
	first, err := turns.takeTurn(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	all := make(chan served, 7)
	for i := range 4 {
		turns.queue("a", fmt.Sprint("a", i), all)
	}
	turns.queue("b", "b0", all)
	turns.queue("b", "b1", all)
	turns.queue("c", "c0", all)
	gone, leave := context.WithCancel(context.Background())
	leave()
	if _, err := turns.takeTurn(gone, "d"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	first()
	var order []string
	for range 7 {
		next := <-all
		order = append(order, next.name)
		next.done()
	}
	if fmt.Sprint(order) != "[a0 b0 c0 a1 b1 a2 a3]" {
		t.Errorf("%v", order)
	}
	if _, err := turns.takeTurn(t.Context(), "e"); err != nil || len(turns.order) > 0 {
		t.Errorf("%v, %v wait", err, turns.order)
	}
}

// TestTurnsByTime, by hand: a group whose turns take 100 ms waits until another one, whose turns take 20 ms, has had as
// much time, and not as many turns.
func TestTurnsByTime(t *testing.T) {
	turns, advance := turnsAt(1)
	all := make(chan served, 9)
	first, err := turns.takeTurn(t.Context(), "costly")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		turns.queue("costly", fmt.Sprint("costly", i), all)
	}
	for i := range 6 {
		turns.queue("cheap", fmt.Sprint("cheap", i), all)
	}
	advance(100 * time.Millisecond)
	first()
	var order []string
	for range 9 {
		next := <-all
		order = append(order, next.name)
		advance(map[bool]time.Duration{true: 100 * time.Millisecond, false: 20 * time.Millisecond}[next.name[1] == 'o'])
		next.done()
	}
	// 0.1 s count 0.1·e^(-0.02n) after n cheap turns: 0.0905 after five, when five of 0.02 s count 0.096.
	if fmt.Sprint(order) != "[cheap0 cheap1 cheap2 cheap3 cheap4 costly0 cheap5 costly1 costly2]" {
		t.Errorf("%v", order)
	}
}

// TestOneProcessorIsKept, by hand: a group that used more than half a second of two processors lately has one of them
// while another group comes, and both a second after that one came last.
func TestOneProcessorIsKept(t *testing.T) {
	turns, advance := turnsAt(2)
	take := func(group string) func() {
		t.Helper()
		done, err := turns.takeTurn(t.Context(), group)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	one, two := take("much"), take("much") // nobody knows of it yet
	advance(700 * time.Millisecond)
	one()
	two()
	one, two = take("much"), take("much") // which is alone
	one()
	two()
	take("little")()
	all := make(chan served, 2)
	turns.queue("much", "first", all)
	one = (<-all).done
	turns.queue("much", "second", all)
	if len(all) != 0 || turns.free != 1 {
		t.Fatalf("%d have turns, and %d processors are free", len(all), turns.free)
	}
	take("little")() // which does not wait
	advance(900 * time.Millisecond)
	one() // 0.7 s of each of two and 0.9 s of one count 1.5 by now
	one = (<-all).done
	turns.queue("much", "third", all)
	if len(all) != 0 {
		t.Error("the processor that is kept was handed out")
	}
	advance(200 * time.Millisecond)
	turns.queue("much", "fourth", all)
	two = (<-all).done
	one()
	two()
	(<-all).done()
	if turns.free != 2 {
		t.Errorf("%d processors are free", turns.free)
	}
}

// TestKeptProcessorIsGivenInTheEnd: a heavy group that waits only because a processor is kept for light ones gets it
// when no light group has asked for a second, though nothing else happens.
func TestKeptProcessorIsGivenInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(2, time.Now)
		heavy := turns.groupNamed("heavy")
		heavy.used = 100
		if _, err := turns.takeTurn(t.Context(), "light"); err != nil { // and is not given back
			t.Fatal(err)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		giveBack, err := turns.takeTurn(ctx, "heavy")
		if took := time.Since(began); err != nil || took < lately || took > 2*lately {
			t.Fatalf("%v after %v", err, took)
		}
		giveBack()
	})
}
