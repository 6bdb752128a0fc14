package front

import (
	"sync"
	"time"
)

// Pace limits requests to a rate per second on average, with up to one second's worth at once. Its zero value has no
// limit.
type Pace struct {
	mu   sync.Mutex
	rate float64 // of requests a second; 0: no bound
	left float64
	at   time.Time // when left was as it is
}

// Set sets the rate, in requests a second; 0: no limit.
func (p *Pace) Set(rate float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = rate
	p.left = max(rate, 1)
	p.at = time.Time{}
}

// Take takes one request and returns 0 and the rate. If the rate is exceeded, it takes none, and returns how long to
// wait for the next one and the rate in requests a second. Without a limit both are 0.
func (p *Pace) Take(now time.Time) (wait time.Duration, rate float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rate <= 0 {
		return 0, 0
	}
	if !p.at.IsZero() {
		p.left = min(p.left+p.rate*now.Sub(p.at).Seconds(), max(p.rate, 1))
	}
	p.at = now
	if p.left < 1 {
		return time.Duration((1 - p.left) / p.rate * float64(time.Second)), p.rate
	}
	p.left--
	return 0, p.rate
}
