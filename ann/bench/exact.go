package bench

import (
	"context"
	"time"

	"conclave/ann"
)

// Exact is how near exact search comes to what memory gives.
type Exact struct {
	QPS             float64 `json:"qps"`                     // one query at a time
	BytesPerSecond  float64 `json:"bytes_per_second"`        // of vectors read for them
	SharedQPS       float64 `json:"shared_qps"`              // many queries at once, which share passes
	MemoryPerSecond float64 `json:"memory_bytes_per_second"` // what copying the same amount of memory into a small buffer reads
}

// MeasureExact measures exact search and the memory beside it, in turns; of
// each the best pass counts, since anything else on the machine only slows.
func MeasureExact(ctx context.Context, x ann.Index, queries [][]float32, passes int) (Exact, error) {
	var e Exact
	queries = queries[:min(len(queries), 64)]
	if len(queries) == 0 || x.Len() == 0 {
		return e, nil
	}
	size := 4 * x.Len() * x.Dimension()
	memory := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		memory[i] = 1 // a page that was never written is not memory yet
	}
	best := func(of *float64, n float64, start time.Time) { *of = max(*of, n/time.Since(start).Seconds()) }
	for range passes {
		for _, q := range queries {
			start := time.Now()
			if _, _, err := x.Search(ctx, q, ann.SearchOptions{K: K, Exact: true}); err != nil {
				return e, err
			}
			best(&e.QPS, 1, start)
		}
		start := time.Now()
		if _, err := x.SearchExact(ctx, queries, K); err != nil {
			return e, err
		}
		best(&e.SharedQPS, float64(len(queries)), start)
		for range 4 {
			start = time.Now()
			read(memory)
			best(&e.MemoryPerSecond, float64(size), start)
		}
	}
	e.BytesPerSecond = e.QPS * float64(size)
	return e, nil
}

// read copies memory piece by piece into a buffer that stays in the nearest
// cache: the system's own copying, at the speed at which memory can be read.
func read(memory []byte) {
	var buffer [8 << 10]byte
	for len(memory) > 0 {
		memory = memory[copy(buffer[:], memory):]
	}
}
