package encoder

import (
	"testing"
	"time"
)

// TestPace: the time of one text is a mean of calls in which the newest has a quarter of the weight, and halves while
// nobody calls.
func TestPace(t *testing.T) {
	start := time.Now()
	var p pace
	if got := p.expect(10, start); got != 0 {
		t.Errorf("before the first call: %v", got)
	}
	p.note(0, time.Second, start)
	p.note(10, 100*time.Millisecond, start)
	if got := p.expect(20, start); got != 200*time.Millisecond {
		t.Errorf("after 10 ms a text: %v for 20", got)
	}
	p.note(2, 60*time.Millisecond, start) // 10 + (30 - 10) / 4
	if got := p.expect(2, start); got != 30*time.Millisecond {
		t.Errorf("after 30 ms a text: %v for two", got)
	}
	if got := p.expect(2, start.Add(2*paceHalves)); got != 7500*time.Microsecond {
		t.Errorf("after two halvings: %v", got)
	}
}
