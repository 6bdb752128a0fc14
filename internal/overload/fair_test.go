package overload

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestShares, by hand: of 16, one group alone has up to 14; two have half each as soon as more than half is
// taken; and what a group gives back, another one gets.
func TestShares(t *testing.T) {
	c, err := New(16, 1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	fill := func(group string) (places []*Place) {
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

// TestTurnsOfGroups: with one processor, who comes second of another group is served second, however
// many of the first group wait; within a group, it is the order of coming.
func TestTurnsOfGroups(t *testing.T) {
	turns := newTurns(1)
	if err := turns.take(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	served := make(chan string)
	wait := func(group, name string) {
		before := 0
		turns.mu.Lock()
		for _, w := range turns.waiting {
			before += len(w)
		}
		turns.mu.Unlock()
		go func() {
			if err := turns.take(context.Background(), group); err != nil {
				name = err.Error()
			}
			served <- name
			turns.giveBack()
		}()
		for now := before; now == before; { // else the order would be the scheduler's
			now = 0
			turns.mu.Lock()
			for _, w := range turns.waiting {
				now += len(w)
			}
			turns.mu.Unlock()
		}
	}
	for i := range 4 {
		wait("a", fmt.Sprint("a", i))
	}
	wait("b", "b0")
	wait("b", "b1")
	wait("c", "c0")
	gone, leave := context.WithCancel(context.Background())
	leave()
	if err := turns.take(gone, "d"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	turns.giveBack()
	var order []string
	for range 7 {
		order = append(order, <-served)
	}
	if fmt.Sprint(order) != "[a0 b0 c0 a1 b1 a2 a3]" {
		t.Errorf("%v", order)
	}
	if err := turns.take(t.Context(), "e"); err != nil || len(turns.waiting) > 0 || len(turns.order) > 0 {
		t.Errorf("%v, %v wait", err, turns.order)
	}
}
