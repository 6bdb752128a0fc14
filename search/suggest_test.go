package search

import (
	"errors"
	"testing"
	"time"

	"example.org/conclave/internal/completion"
)

// TestSuggestionsAge: what was collected is used for its generation, and for another one as long as collecting it is
// cheap against the time since then.
func TestSuggestionsAge(t *testing.T) {
	now := time.Unix(0, 0)
	clock := func() time.Time { return now }
	collected := 0
	collect := func() (*completion.Index, error) {
		collected++
		now = now.Add(time.Second)
		return completion.New(nil), nil
	}
	var all suggestions
	c := all.of("a")
	for _, step := range []struct {
		generation uint64
		later      time.Duration
		want       int
	}{{1, 0, 1}, {1, time.Hour, 1}, {2, 0, 2}, {3, 90 * time.Second, 2}, {3, 11 * time.Second, 3}, {3, time.Hour, 3}} {
		now = now.Add(step.later)
		if _, err := c.get(step.generation, clock, collect); err != nil || collected != step.want {
			t.Fatalf("%+v: collected %d times, %v", step, collected, err)
		}
	}
	failure := errors.New("broken")
	if _, err := all.of("b").get(1, clock, func() (*completion.Index, error) { return nil, failure }); err != failure {
		t.Error(err)
	}
	if all.of("a") != c {
		t.Error("another restriction forgot it")
	}
	for i := range 3 * mostCallers {
		all.of(string(rune('c' + i)))
	}
	if len(all.kept) > mostCallers {
		t.Errorf("%d are kept", len(all.kept))
	}
}
