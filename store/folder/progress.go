package folder

import (
	"sync"
	"time"

	"example.org/conclave/store"
)

// reporter passes progress on to a function, at most once in reportEvery. Several
// goroutines may use it; it makes one call of the function at a time.
type reporter struct {
	mu   sync.Mutex
	to   func(store.Progress)
	last store.Progress
	when time.Time
}

const reportEvery = 50 * time.Millisecond

// report passes p on at the beginning and the end of a stage, and in between if reportEvery has passed since the last
// report. It does nothing if there is no function to pass it to, and otherwise calls that while r is locked.
func (r *reporter) report(p store.Progress) {
	if r.to == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	begins := p.Stage != r.last.Stage || p.Expert != r.last.Expert
	now := time.Now()
	if !begins && p.Done != p.Total && now.Sub(r.when) < reportEvery {
		return
	}
	r.last, r.when = p, now
	r.to(p)
}
