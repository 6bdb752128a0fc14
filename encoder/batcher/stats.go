package batcher

import "sync"

// Stats counts what a batcher has done since it was made.
type Stats struct {
	Waiting int64 // questions in the queue now
	Jobs    int64 // calls for passages under way now
	Cached  int64 // vectors in the cache now

	Questions uint64 // questions asked
	Hits      uint64 // of these, answered from the cache
	Shared    uint64 // of these, joined an equal question already under way
	Refused   uint64 // questions and calls for passages refused because a queue was full
	Abandoned uint64 // entries dropped before inference because every caller had gone
	Ended     uint64 // runs ended early for the same reason

	QuestionRuns, PassageRuns uint64
	QuestionRows, PassageRows uint64
	RealTokens, PaddedTokens  uint64 // over all runs, padded ones include the real

	// The most cores that runs of each lane had at the same time. Always 0 if runs take place on another device.
	QuestionCores, PassageCores int
}

type counters struct {
	mu    sync.Mutex
	stats Stats
}

// count calls what, which may change the counts, while it holds the lock. what must not call count.
func (c *counters) count(what func(s *Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	what(&c.stats)
}

// countRun adds a run of these rows to the counts of a lane.
func (s *Stats) countRun(lane Lane, rows [][]int32) {
	longest := 0
	for _, row := range rows {
		longest = max(longest, len(row))
		s.RealTokens += uint64(len(row))
	}
	s.PaddedTokens += uint64(longest * len(rows))
	if lane == Passage {
		s.PassageRuns++
		s.PassageRows += uint64(len(rows))
		return
	}
	s.QuestionRuns++
	s.QuestionRows += uint64(len(rows))
}

// countBegun updates the most cores that runs of a lane had at the same time, of which they have this many now.
func (s *Stats) countBegun(lane Lane, cores int) {
	if lane == Passage {
		s.PassageCores = max(s.PassageCores, cores)
		return
	}
	s.QuestionCores = max(s.QuestionCores, cores)
}

// Stats returns what was counted so far.
func (b *Batcher) Stats() (out Stats) {
	b.counters.count(func(s *Stats) { out = *s })
	out.Cached = int64(b.cache.len())
	return out
}
