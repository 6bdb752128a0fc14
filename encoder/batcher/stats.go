package batcher

import "sync/atomic"

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
}

type counters struct {
	waiting, jobs                    atomic.Int64
	questions, hits, shared, refused atomic.Uint64
	abandoned, ended                 atomic.Uint64
	questionRuns, passageRuns        atomic.Uint64
	questionRows, passageRows        atomic.Uint64
	realTokens, paddedTokens         atomic.Uint64
}

func (c *counters) ran(lane Lane, rows [][]int32) {
	longest, tokens := 0, 0
	for _, row := range rows {
		longest = max(longest, len(row))
		tokens += len(row)
	}
	c.realTokens.Add(uint64(tokens))
	c.paddedTokens.Add(uint64(longest * len(rows)))
	if lane == Passage {
		c.passageRuns.Add(1)
		c.passageRows.Add(uint64(len(rows)))
		return
	}
	c.questionRuns.Add(1)
	c.questionRows.Add(uint64(len(rows)))
}

// Stats is a snapshot; its numbers may be a run apart from each other.
func (b *Batcher) Stats() Stats {
	c := &b.counters
	return Stats{
		Waiting: c.waiting.Load(), Jobs: c.jobs.Load(), Cached: int64(b.cache.len()),
		Questions: c.questions.Load(), Hits: c.hits.Load(), Shared: c.shared.Load(),
		Refused: c.refused.Load(), Abandoned: c.abandoned.Load(), Ended: c.ended.Load(),
		QuestionRuns: c.questionRuns.Load(), PassageRuns: c.passageRuns.Load(),
		QuestionRows: c.questionRows.Load(), PassageRows: c.passageRows.Load(),
		RealTokens: c.realTokens.Load(), PaddedTokens: c.paddedTokens.Load(),
	}
}
