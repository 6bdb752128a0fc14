package batcher

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestPassagesRest: of four cores, passages have all while nobody asks, and two, for half
// of the time, while questions come.
func TestPassagesRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMachine(4)
		const run = 10 * time.Millisecond
		for _, c := range []struct {
			asked bool
			most  int
			share float64 // of four cores
		}{{false, 4, 1}, {true, 2, 0.25}, {false, 4, 1}} {
			var mu sync.Mutex
			now, most, runs := 0, 0, 0
			began := time.Now()
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for time.Since(began) < 2*time.Second {
						if c.asked {
							m.noteQuestion("")
						}
						m.takePermit()
						mu.Lock()
						if now++; time.Since(began) > time.Second/2 { // what ran before has ended
							most = max(most, now)
						}
						runs++
						mu.Unlock()
						time.Sleep(run)
						mu.Lock()
						now--
						mu.Unlock()
						m.givePermitBack(run)
					}
				})
			}
			all.Wait()
			share := float64(runs) * run.Seconds() / (4 * time.Since(began).Seconds())
			if most != c.most || share < 0.9*c.share || share > 1.1*c.share {
				t.Errorf("asked %v: %d at once and %.2f of the time, want %d and %.2f", c.asked, most, share, c.most, c.share)
			}
			time.Sleep(2 * quietAfter)
		}
		time.Sleep(time.Second)
		if m.passages != 0 {
			t.Errorf("%d permits are left behind", m.passages)
		}
	})
}
