package batcher

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Two models on one machine run one after the other, and a batch is formed
// when its turn comes, not when it asked for it.
func TestModelsShareTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := NewMachine(2)
		m, other := &model{}, &model{}
		b := start(m, func(c *Config) { c.Machine = machine })
		defer b.Close()
		c := start(other, func(c *Config) { c.Machine = machine; c.Threads = 8 }) // more than there are
		defer c.Close()
		begun := time.Now()
		first := ask(t.Context(), b, row(1, 8))
		synctest.Wait()
		second := ask(t.Context(), c, row(2, 8))
		synctest.Wait()
		third := ask(t.Context(), c, row(3, 8))
		wantVector(t, <-first, row(1, 8))
		wantVector(t, <-second, row(2, 8))
		wantVector(t, <-third, row(3, 8))
		if took := time.Since(begun); took != 24*time.Millisecond {
			t.Errorf("took %v, one after the other is 24 ms", took)
		}
		if n := len(other.seen()); n != 1 {
			t.Errorf("%d runs of the second model, want 1", n)
		}
		// Callers who go while slots are awaited leave nothing behind.
		first = ask(t.Context(), b, row(4, 8))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		gone := ask(ctx, c, row(5, 8))
		synctest.Wait()
		cancel()
		<-gone
		wantVector(t, <-first, row(4, 8))
		wantVector(t, <-ask(t.Context(), c, row(6, 8)), row(6, 8))
		if n := len(other.seen()); n != 2 {
			t.Errorf("%d runs of the second model, want 2", n)
		}
	})
}
