package search

import (
	"context"
	"errors"
	"fmt"
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
		if _, err := c.get(t.Context(), step.generation, clock, collect); err != nil || collected != step.want {
			t.Fatalf("%+v: collected %d times, %v", step, collected, err)
		}
	}
	failure := errors.New("broken")
	broken := func() (*completion.Index, error) { return nil, failure }
	if _, err := all.of("b").get(t.Context(), 1, clock, broken); err != failure {
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

// TestSuggestionsInBackground: a request does not wait for a collection that takes long; those behind it share it, and
// get what was collected before until it has ended.
func TestSuggestionsInBackground(t *testing.T) {
	var c callerSuggestions
	collected := 0
	release := make(chan struct{})
	collect := func() (*completion.Index, error) {
		collected++
		<-release
		return completion.New([]completion.Entry{{Text: fmt.Sprint("index ", collected), Kind: completion.Heading}}), nil
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	running := func() chan struct{} {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.collecting
	}
	for range 3 {
		if x, err := c.get(gone, 1, time.Now, collect); x != nil || err != nil {
			t.Fatalf("%v, %v", x, err)
		}
	}
	ended := running()
	release <- struct{}{}
	<-ended
	first, err := c.get(gone, 1, time.Now, collect)
	if first == nil || err != nil || collected != 1 {
		t.Fatalf("%v, %v, collected %d times", first, err, collected)
	}
	c.took = 0 // so that the next generation is collected at once
	if x, err := c.get(gone, 2, time.Now, collect); x != first || err != nil {
		t.Fatalf("%v, %v", x, err)
	}
	ended = running()
	release <- struct{}{}
	<-ended
	if x, err := c.get(gone, 2, time.Now, collect); x == first || x == nil || err != nil || collected != 2 {
		t.Fatalf("%v, %v, collected %d times", x, err, collected)
	}
}
