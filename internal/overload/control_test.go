package overload

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestFloodIsAnsweredOrRefused: two processors that need 10 ms a request are
// asked for ten times what they can do, for three seconds. Whoever is admitted is
// done within its second, refusals take no time, and half a second after the
// flood there is nothing left. The clock is the test's.
func TestFloodIsAnsweredOrRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = time.Second
		c, err := New(10_000, 2, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		answered, refused, late := 0, 0, 0
		results := make(chan time.Duration, 10_000)
		for i := range 6_000 { // 2,000 a second; 200 can be done
			began := time.Now()
			if i%7 == 0 && c.Room("") != nil {
				refused++
				continue
			}
			place, err := c.Admit(1, began.Add(timeout))
			if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
				refused++
				if time.Since(began) > 0 || refusal.After < time.Second {
					t.Fatalf("refused after %v, to try again after %v", time.Since(began), refusal.After)
				}
			} else {
				go func() {
					turn, err := c.Turn(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					time.Sleep(10 * time.Millisecond)
					turn()
					results <- time.Since(began)
					place.Leave()
				}()
			}
			time.Sleep(500 * time.Microsecond)
		}
		flood := time.Now()
		synctest.Wait()
		for answered < 6_000-refused {
			if took := <-results; took > timeout {
				late++
			}
			answered++
		}
		left := time.Since(flood)
		for c.load() > 0 {
			time.Sleep(time.Millisecond)
		}
		if late > 0 || answered+refused != 6_000 {
			t.Errorf("%d answered, %d of them late, %d refused", answered, late, refused)
		}
		if answered < 500 { // of the 600 that could be
			t.Errorf("%d of 600 possible ones were answered", answered)
		}
		if left > 600*time.Millisecond {
			t.Errorf("there was work for %v after the flood", left)
		}
	})
}

// load returns the cost that is admitted now.
func (c *Control) load() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.admitted
}

// TestCostCounts: a batch of twenty has as much room as twenty searches, and a
// request that is larger than all room is admitted alone.
func TestCostCounts(t *testing.T) {
	c, err := New(20, 1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	soon := time.Now().Add(time.Hour)
	all, err := c.Admit(30, soon)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Admit(1, soon); err == nil {
		t.Error("one more was admitted beside all that there is room for")
	}
	if c.Room("") == nil {
		t.Error("there is room beside all that there is room for")
	}
	all.Leave()
	one, err := c.Admit(1, soon)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Admit(20, soon); err == nil {
		t.Error("twenty were admitted beside one")
	}
	one.Leave()
	if c.load() != 0 {
		t.Errorf("%d are admitted after all are done", c.load())
	}
}

// TestIdleIsNoMeasure: what requests wait for that nobody computes does not make
// others be refused, neither afterwards nor meanwhile.
func TestIdleIsNoMeasure(t *testing.T) {
	now := time.Now()
	c, err := New(100, 1, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	admit := func() *Admission {
		t.Helper()
		place, err := c.Admit(1, now.Add(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		return place
	}
	place := admit()
	goOn := place.Idle()
	now = now.Add(10 * time.Second)
	goOn()
	now = now.Add(100 * time.Millisecond)
	place.Leave()
	// A tenth of a second each: beside those that idle there is time for four.
	var idle []func()
	for range 50 {
		idle = append(idle, admit().Idle())
	}
	held, err := c.Hold(20)
	if err != nil {
		t.Fatal(err)
	}
	idle = append(idle, held.Idle())
	for range 4 {
		admit()
	}
	if _, err := c.Admit(1, now.Add(time.Hour)); err != nil {
		t.Errorf("the fifth needs half a second: %v", err)
	}
	if _, err := c.Admit(1, now.Add(time.Hour)); err == nil {
		t.Error("the sixth needs more than half a second, and was admitted")
	}
	for _, goOn := range idle {
		goOn()
	}
	if c.load() != 75 || c.Room("") == nil {
		t.Errorf("%d are admitted, and there is room: %v", c.load(), c.Room(""))
	}
}

// TestAloneIsAdmitted: where a request of cost 1 takes a tenth of a second, one of
// cost 40 is expected to take four. It is admitted where nobody else is, and refused
// beside another.
func TestAloneIsAdmitted(t *testing.T) {
	now := time.Now()
	c, err := New(100, 1, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	admit := func(cost int) (*Admission, error) { return c.Admit(cost, now.Add(2*time.Second)) }
	small, err := admit(1)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(100 * time.Millisecond)
	small.Leave()
	large, err := admit(40)
	if err != nil {
		t.Fatalf("a large request was refused though it is alone: %v", err)
	}
	large.Leave()
	if _, err := admit(1); err != nil {
		t.Fatal(err)
	}
	if _, err := admit(40); err == nil {
		t.Error("a large request was admitted beside another")
	}
}

// TestNoTimeLeft: what has no time left is refused beside others, and nobody is told that there is too much to do who
// is alone. A turn ends waiting with its context.
func TestNoTimeLeft(t *testing.T) {
	c, err := New(4, 1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := c.Admit(1, time.Now().Add(-time.Second))
	if err != nil {
		t.Fatalf("a request whose time was up was told that there is too much to do, and is alone: %v", err)
	}
	if _, err := c.Admit(1, time.Now().Add(-time.Second)); err == nil {
		t.Error("a request whose time was up was admitted beside another")
	}
	alone.Leave()
	done, err := c.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := c.Turn(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second turn on one processor: %v", err)
	}
	done()
	done, err = c.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done()
}

// TestConversationsWaitForTheirTurn: of requests that come together and need 100 ms each on two processors, Admit
// refuses most. AwaitOf answers as many as fit into half of their time, in the order in which they came, and refuses
// the others at once. The clock is the test's.
func TestConversationsWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(10_000, 2, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		work := func(place *Admission) {
			turn, err := c.Turn(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(100 * time.Millisecond)
			turn()
			place.Leave()
		}
		for range 40 { // what a request takes is measured
			place, err := c.Admit(1, time.Now().Add(time.Second))
			if err != nil {
				t.Fatal(err)
			}
			work(place)
		}
		const timeout = 4 * time.Second // 2 s for waiting: 20 of 100 ms on each of two processors
		var order []int
		refused, late := 0, 0
		began := time.Now()
		for i := range 100 {
			go func() {
				place, err := c.AwaitOf(t.Context(), "", 1, began.Add(timeout))
				if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
					refused++
					if refusal.After < time.Second {
						t.Errorf("to try again after %v", refusal.After)
					}
					return
				}
				work(place)
				order = append(order, i)
				if time.Since(began) > timeout {
					late++
				}
			}()
			synctest.Wait()
		}
		time.Sleep(2 * timeout)
		if len(order)+refused != 100 || len(order) < 15 || late > 0 {
			t.Errorf("%d answered, %d late, %d refused", len(order), late, refused)
		}
		for at, i := range order {
			if i/2 != at/2 { // two are answered at a time
				t.Errorf("answered in the order %v", order)
				break
			}
		}
		if n := c.load(); n > 0 || len(c.waiting) > 0 {
			t.Errorf("%d are admitted and %d wait at the end", n, len(c.waiting))
		}
	})
}

// TestWaitingEndsWithItsCaller: a request whose caller leaves does not wait any more, and leaves no place behind.
func TestWaitingEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(1, 1, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		first, err := c.Admit(1, time.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := c.AwaitOf(ctx, "", 1, time.Now().Add(time.Minute)); !errors.Is(err, context.Canceled) {
			t.Errorf("the wait ended with %v", err)
		}
		refusal := (*Refusal)(nil)
		if _, err := c.AwaitOf(t.Context(), "", 1, time.Now().Add(time.Minute)); !errors.As(err, &refusal) {
			t.Errorf("after half a minute: %v", err)
		}
		first.Leave()
		if len(c.waiting) > 0 || c.load() > 0 {
			t.Errorf("%d wait, %d are admitted", len(c.waiting), c.load())
		}
	})
}
