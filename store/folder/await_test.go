package folder

import (
	"context"
	"testing"
)

// TestReadyBeatsContext: what became ready before its waiting was given up is no error,
// whichever of the two is noticed first.
func TestReadyBeatsContext(t *testing.T) {
	for range 200 {
		l := &Live{changed: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		waits, result := make(chan struct{}), make(chan error, 1)
		ready, first := false, true
		go func() {
			result <- l.await(ctx, func() bool {
				if first {
					first = false
					close(waits)
				}
				return ready
			})
		}()
		<-waits
		l.mu.Lock()
		ready = true
		cancel()
		close(l.changed)
		l.mu.Unlock()
		if err := <-result; err != nil {
			t.Fatal(err)
		}
	}
}
