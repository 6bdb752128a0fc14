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

// Vectors of different lengths are bounded by what they hold together.
func TestCacheCountsNumbers(t *testing.T) {
	c := newVectorCache(4, 10)
	have := func(want string) {
		t.Helper()
		var keys string
		numbers := 0
		for element := c.recency.Front(); element != nil; element = element.Next() {
			keys += element.Value.(cacheEntry).key
			numbers += len(element.Value.(cacheEntry).vector)
		}
		if keys != want || numbers != c.numbers || len(c.byKey) != len(keys) {
			t.Errorf("%q with %d numbers (%d counted, %d keys), not %q", keys, numbers, c.numbers, len(c.byKey), want)
		}
	}
	for _, step := range []struct {
		key  string
		n    int
		want string
	}{
		{"a", 3, "a"}, {"b", 3, "ba"}, {"c", 3, "cba"}, {"d", 2, "dcb"}, // a goes for its numbers
		{"e", 1, "edcb"}, {"f", 1, "fedc"}, // b for the count
		{"x", 11, "fedc"}, // longer than all may be
		{"d", 4, "dfec"}, {"g", 10, "g"}, {"h", 10, "h"},
	} {
		c.put(step.key, make([]float32, step.n))
		have(step.want)
	}
	c = newVectorCache(2, 0)
	for _, key := range []string{"a", "b", "c"} {
		c.put(key, make([]float32, 1000))
	}
	have("cb")
}
