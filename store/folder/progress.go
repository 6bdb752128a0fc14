package folder

import (
	"sync"
	"time"
)

// Stage is a part of a build.
type Stage string

// The stages, in their order.
const (
	Reading   Stage = "reading"   // passages in; unit bytes of the input
	Words     Stage = "words"     // BM25; unit passages
	Encoding  Stage = "encoding"  // one expert's vectors; unit passages
	Graph     Stage = "graph"     // one expert's index; unit vectors
	Measuring Stage = "measuring" // one expert's recall; unit searches
	Verifying Stage = "verifying" // checksums; unit bytes
)

// Progress says how far a build is. Done and Total count the same unit; Total
// is -1 when it cannot be known (reading from a pipe).
type Progress struct {
	Stage    Stage
	Expert   string // for the stages that belong to one
	Done     int64
	Total    int64
	Unit     string // "bytes", "passages", "vectors", "searches"
	Passages int64  // read so far, while reading
}

// reporter passes progress on, but not more often than a person can read. Several
// goroutines may use it; it calls the function behind it one at a time.
type reporter struct {
	mu   sync.Mutex
	to   func(Progress)
	last Progress
	when time.Time
}

const reportEvery = 50 * time.Millisecond

// report passes p on when enough time has passed, and always at the beginning
// and the end of a stage.
func (r *reporter) report(p Progress) {
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
