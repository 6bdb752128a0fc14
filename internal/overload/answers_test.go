package overload

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestAnswerMemory: whatever a hundred callers take, keep for a while and take more of, it is
// never more than there is; whoever waits gets room or its time is up; in the end
// everything is free. The clock is the test's.
func TestAnswerMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1000
		r := NewAnswerMemory(size, 8)
		var mu sync.Mutex
		inUse := int64(0)
		had := 0
		missed := 0
		use := func(bytes int64) {
			mu.Lock()
			defer mu.Unlock()
			inUse += bytes
			if inUse > size || inUse < 0 {
				t.Errorf("%d of %d bytes are in use", inUse, size)
			}
		}
		var all sync.WaitGroup
		for i := range 100 {
			rng := rand.New(rand.NewPCG(7, uint64(i)))
			all.Go(func() {
				for range 20 {
					bytes := 1 + rng.Int64N(size/2)
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+rng.IntN(2000))*time.Millisecond)
					held, err := r.Take(ctx, bytes, 1)
					cancel()
					if err != nil {
						if !errors.Is(err, context.DeadlineExceeded) {
							t.Error(err)
						}
						mu.Lock()
						missed++
						mu.Unlock()
						continue
					}
					use(bytes)
					if other := rng.Int64N(size / 2); other <= bytes {
						use(other - bytes) // before anybody else may have it
						bytes = other
						if !r.Resize(&held, bytes) {
							t.Error("no less may be had")
						}
					} else if r.Resize(&held, other) {
						use(other - bytes)
						bytes = other
					}
					time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
					use(-bytes)
					r.GiveBack(held)
					mu.Lock()
					had++
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if had < 200 || missed < 200 {
			t.Errorf("%d had room and %d missed it: the test tries too little", had, missed)
		}
		if _, err := r.Take(t.Context(), size, 1); err != nil || r.taken != size || r.wanted != 0 {
			t.Errorf("after all: %v, %d taken and %d wanted", err, r.taken, r.wanted)
		}
		if _, err := r.Take(t.Context(), size+1, 1); !errors.Is(err, ErrTooLarge) {
			t.Errorf("more than there is: %v", err)
		}
	})
}

// TestLargeAnswers leave a quarter of the room and half of the places to others. The
// clock is the test's.
func TestLargeAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewAnswerMemory(40<<20, 10)
		take := func(bytes int64, places int) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := r.Take(ctx, bytes, places)
			return err
		}
		if err := take(31<<20, 1); !errors.Is(err, ErrTooLarge) {
			t.Errorf("31 of 40 MiB: %v", err)
		}
		if err := take(30<<20, 1); err != nil {
			t.Errorf("30 of 40 MiB: %v", err)
		}
		waited := make(chan error)
		for range 5 {
			go func() { waited <- take(3<<20, 1) }()
		}
		synctest.Wait()
		if err := take(3<<20, 1); !errors.Is(err, ErrCrowded) {
			t.Errorf("a sixth that would have to wait: %v", err)
		}
		for range 5 {
			if err := take(2<<20, 5); err != nil {
				t.Errorf("an ordinary answer beside large ones: %v", err)
			}
		}
		for range 5 {
			if err := <-waited; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("one that waits: %v", err)
			}
		}
		if r.waiting != 0 || r.wanted != 0 || r.taken != 40<<20 {
			t.Errorf("%d places and %d bytes are waited for, %d are taken", r.waiting, r.wanted, r.taken)
		}
	})
}

// TestLate: who takes nothing for a second, or too little, is late; by hand.
func TestLate(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		began, moved time.Duration // ago
		bytes, sent  int
		want         float64
	}{
		{900 * time.Millisecond, 900 * time.Millisecond, 1000, 0, 0}, // its first second
		{time.Second, time.Second, 1000, 0, 1000},
		{2 * time.Second, time.Millisecond, 1000, 300, 0}, // within seven seconds
		{2 * time.Second, time.Millisecond, 1000, 100, 20},
		{2 * time.Second, time.Second, 1000, 500, 4}, // at a stop
	} {
		s := transfer{began: now.Add(-c.began), moved: now.Add(-c.moved), bytes: c.bytes, sent: c.sent}
		if got := s.overdueSeconds(now); got < c.want-1e-6 || got > c.want+1e-6 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
