package batcher

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestEqualQuestionsAreEncodedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		b := start(m, nil)
		defer b.Close()
		ctx, cancel := context.WithCancel(t.Context())
		leaves := ask(ctx, b, row(1, 8))
		synctest.Wait()
		var answers []<-chan answer
		for range 10 {
			answers = append(answers, ask(t.Context(), b, row(1, 8)))
		}
		synctest.Wait()
		cancel() // the first to ask goes; the others keep the run
		<-leaves
		for _, a := range answers {
			got := <-a
			wantVector(t, got, row(1, 8))
			got.vector[0] = -1 // each has a vector of its own
		}
		if n := len(m.seen()); n != 1 {
			t.Errorf("%d runs, want 1", n)
		}
	})
}

func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		b := start(m, func(c *Config) { c.Cache = 2 })
		defer b.Close()
		for i, first := range []int32{1, 2, 1, 3, 1, 2} {
			a := <-ask(t.Context(), b, row(first, 3))
			wantVector(t, a, row(first, 3))
			a.vector[0] = -1 // must not reach the cache
			want := []int{1, 2, 2, 3, 3, 4}[i]
			if got := len(m.seen()); got != want {
				t.Errorf("after question %d: %d runs, want %d", i, got, want)
			}
		}
		if s := b.Stats(); s.Hits != 2 || s.Cached != 2 || s.Questions != 6 {
			t.Errorf("stats %+v", s)
		}
	})
}
