package vectors

import (
	"context"
	"runtime"
	"time"

	"example.org/conclave/ann"
)

// Exact compares exact search with the speed of memory.
type Exact struct {
	QPS             float64 `json:"qps"`                     // one query at a time
	BytesPerSecond  float64 `json:"bytes_per_second"`        // of vectors read for them
	SharedQPS       float64 `json:"shared_qps"`              // many queries at once, which share passes
	MemoryPerSecond float64 `json:"memory_bytes_per_second"` // of as much memory read by plain additions
}

// measureExact measures exact search and reading memory, in turns; of each the best pass counts, since anything else on
// the machine only slows. It asks up to 64 of the queries. Without queries or vectors it returns zeros. It fails if a
// search does or ctx ends. passes is how often each is done.
func measureExact(ctx context.Context, x ann.Index, queries [][]float32, passes int) (Exact, error) {
	var e Exact
	queries = queries[:min(len(queries), 64)]
	if len(queries) == 0 || x.Len() == 0 {
		return e, nil
	}
	size := 2 * x.Len() * x.Dimension() // in half precision
	memory := make([]uint64, size/8)
	for i := range memory {
		memory[i] = uint64(i) // pages that were never written share one
	}
	sum := uint64(0)
	best := func(rate *float64, n float64, start time.Time) { *rate = max(*rate, n/time.Since(start).Seconds()) }
	for range passes {
		for _, q := range queries {
			start := time.Now()
			if _, _, err := x.Search(ctx, q, ann.SearchOptions{K: K, Exact: true}); err != nil {
				return e, err
			}
			best(&e.QPS, 1, start)
			start = time.Now()
			sum += sumNumbers(memory)
			best(&e.MemoryPerSecond, float64(size), start)
		}
		start := time.Now()
		if _, err := x.SearchExact(ctx, queries, K); err != nil {
			return e, err
		}
		best(&e.SharedQPS, float64(len(queries)), start)
	}
	runtime.KeepAlive(sum)
	e.BytesPerSecond = e.QPS * float64(size)
	return e, nil
}

// sumNumbers returns the sum of numbers, up to the last multiple of eight, computed in eight sums, so that additions
// wait for memory and not for each other.
func sumNumbers(numbers []uint64) uint64 {
	var a, b, c, d, e, f, g, h uint64
	for len(numbers) >= 8 {
		n := numbers[:8:8]
		a, b, c, d = a+n[0], b+n[1], c+n[2], d+n[3]
		e, f, g, h = e+n[4], f+n[5], g+n[6], h+n[7]
		numbers = numbers[8:]
	}
	return a + b + c + d + e + f + g + h
}
