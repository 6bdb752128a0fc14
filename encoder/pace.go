package encoder

import (
	"math"
	"sync"
	"time"
)

// pace remembers how long a model takes for one text, as the mean of recent calls. Several goroutines may use it. The
// zero pace knows nothing.
type pace struct {
	mu  sync.Mutex
	one time.Duration // 0: nothing is known
	at  time.Time     // when one was noted
}

// How pace forgets. The mean is over paceMemory calls, roughly: the newest has the weight 1/paceMemory. While nothing
// is noted the expected time halves every paceHalves, so that a model which is left out because it was slow is tried
// again.
const (
	paceMemory = 4
	paceHalves = 5 * time.Second
)

// note records that a number of texts took so long together, at the time now. It does nothing without texts.
func (p *pace) note(texts int, took time.Duration, now time.Time) {
	if texts < 1 {
		return
	}
	one := took / time.Duration(texts)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.one > 0 {
		one = p.one + (one-p.one)/paceMemory
	}
	p.one = one
	p.at = now
}

// expect returns how long a number of texts will take at the time now, by what was noted; after each paceHalves
// without a note that counts half as much. It is 0 if nothing is known.
func (p *pace) expect(texts int, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	age := float64(max(now.Sub(p.at), 0)) / float64(paceHalves)
	return time.Duration(float64(texts) * float64(p.one) * math.Exp2(-age))
}
