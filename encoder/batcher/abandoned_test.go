package batcher

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestAbandonedEntriesAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		b := start(m, func(c *Config) { c.Queue = 2 })
		defer b.Close()
		first := ask(t.Context(), b, row(1, 8))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		gone := ask(ctx, b, row(2, 8))
		stays := ask(t.Context(), b, row(3, 8))
		synctest.Wait()
		cancel()
		if a := <-gone; !errors.Is(a.err, context.Canceled) {
			t.Errorf("the caller who went gets %v", a.err)
		}
		// Its place is free again.
		synctest.Wait()
		next := ask(t.Context(), b, row(4, 8))
		wantVector(t, <-first, row(1, 8))
		wantVector(t, <-stays, row(3, 8))
		wantVector(t, <-next, row(4, 8))
		for _, rows := range m.seen() {
			if slices.Contains(rows, 2) {
				t.Error("the question of a caller who had gone was run")
			}
		}
		if s := b.Stats(); s.Abandoned != 1 || s.Refused != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestRunEndsWhenAllItsCallersHaveGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		b := start(m, nil)
		defer b.Close()
		one, cancelOne := context.WithCancel(t.Context())
		two, cancelTwo := context.WithCancel(t.Context())
		defer cancelTwo()
		blocker := ask(t.Context(), b, row(9, 1))
		synctest.Wait()
		first, second := ask(one, b, row(1, 8)), ask(two, b, row(2, 8))
		<-blocker
		synctest.Wait() // both in one run now
		cancelOne()
		<-first
		time.Sleep(time.Millisecond)
		if m.ran()[1].ended != nil {
			t.Fatal("a run was ended while a caller waited for it")
		}
		// Another caller joins and saves the run from the second's going.
		joined := ask(t.Context(), b, row(2, 8))
		synctest.Wait()
		cancelTwo()
		if a := <-second; !errors.Is(a.err, context.Canceled) {
			t.Error(a.err)
		}
		wantVector(t, <-joined, row(2, 8))
		if len(m.seen()) != 2 || b.Stats().Ended != 0 {
			t.Errorf("batches %v, stats %+v", m.seen(), b.Stats())
		}

		three, cancelThree := context.WithCancel(t.Context())
		third := ask(three, b, row(3, 50))
		synctest.Wait()
		begun := time.Now()
		cancelThree()
		<-third
		// Asked again, it is run again and does not get the ended run's error.
		wantVector(t, <-ask(t.Context(), b, row(3, 50)), row(3, 50))
		if took := time.Since(begun); took != 50*time.Millisecond {
			t.Errorf("took %v: the deserted run was not ended at once", took)
		}
		if m.ran()[2].ended == nil || b.Stats().Ended != 1 {
			t.Errorf("the run without callers went on; stats %+v", b.Stats())
		}
	})
}
