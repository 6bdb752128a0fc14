package overload

import (
	"context"
	"sync"
	"testing"
	"time"
)

// TestWorkHasABudget: on four processors, while searches come, a caller takes one
// processor's time however many pieces of work it brings, and all callers two; while none
// come, nobody waits. The clock is the test's, and each piece of work costs what is said.
func TestWorkHasABudget(t *testing.T) {
	now := time.Now()
	w := newWork(4)
	spend := func(callers []string, searching bool) map[string]time.Duration {
		spent := map[string]time.Duration{}
		for range 10_000 { // milliseconds
			if searching {
				w.searched.Store(now.UnixNano())
			}
			for _, who := range callers {
				for range 3 { // pieces of 3 ms at a time
					if w.debtTime(who, now) > 0 {
						continue
					}
					w.chargeAccount(who, 3*time.Millisecond, now)
					spent[who] += 3 * time.Millisecond
				}
			}
			now = now.Add(time.Millisecond)
		}
		return spent
	}
	within := func(what string, got, want time.Duration) {
		t.Helper()
		if got < want*95/100 || got > want*105/100 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	within("one caller", spend([]string{"a"}, true)["a"], 10*time.Second)
	total := time.Duration(0)
	for _, spent := range spend([]string{"a", "b", "c", "d"}, true) {
		total += spent
	}
	within("four callers", total, 20*time.Second)
	now = now.Add(2 * quietAfter)
	within("while nobody searches", spend([]string{"a"}, false)["a"], 90*time.Second)
	now = now.Add(time.Minute)
	w.searched.Store(now.UnixNano())
	if wait := w.debtTime("a", now); wait > 0 || len(w.accounts) > 4 {
		t.Errorf("after a minute: %v to wait, %d accounts", wait, len(w.accounts))
	}
}

// TestWorkBegins: whatever the number of processors, the first piece of work has no debt.
func TestWorkBegins(t *testing.T) {
	for processors := range 64 {
		w := newWork(processors + 1)
		w.searched.Store(time.Now().UnixNano())
		for range 2 {
			if wait := w.debtTime("a", time.Now()); wait > 0 || w.all.left < 0 {
				t.Errorf("%d processors: %v to wait, %v left", processors+1, wait, w.all.left)
			}
			w.chargeAccount("a", time.Millisecond, time.Now())
		}
	}
}

// TestWorkOfManyAtOnce: what computes has half of the processors at a time, and waiting
// for a place or for a debt ends with the context.
func TestWorkOfManyAtOnce(t *testing.T) {
	c, err := New(10, 4, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	entered, release := make(chan struct{}, 8), make(chan struct{})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			_ = c.Work(t.Context(), "a", func() {
				entered <- struct{}{}
				<-release
			})
		})
	}
	<-entered
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Work(ctx, "b", func() { t.Error("a third has a place") }); err == nil {
		t.Error("a third did not wait")
	}
	done, err := c.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done()
	c.work.chargeAccount("b", time.Hour, time.Now())
	if err := c.Read(ctx, "b", func() { t.Error("work was done in debt") }); err == nil {
		t.Error("a debt was forgotten")
	}
	close(release)
	all.Wait()
}
