package batcher

import (
	"context"
	"sync/atomic"
	"testing"
)

// What queueing costs by itself: the model takes no time.
func BenchmarkQuestion(b *testing.B) {
	for name, callers := range map[string]int{"alone": 1, "64 callers": 64} {
		b.Run(name, func(b *testing.B) {
			queue := New(Config{
				Infer: func(_ context.Context, _ Lane, rows [][]int32) ([][]float32, error) {
					return make([][]float32, len(rows)), nil
				},
				Machine: NewMachine(2), Threads: 2, Runs: 1, Queue: 1024,
				BatchTokens: 512, PassageTokens: 1024, BusyTokens: 256, StartTokens: 32, Cache: 1000,
			})
			defer queue.Close()
			var next atomic.Int32
			b.SetParallelism(max(1, callers/2))
			b.ReportAllocs()
			b.ResetTimer()
			if callers == 1 {
				for b.Loop() {
					if _, err := queue.Question(b.Context(), []int32{next.Add(1), 1, 2}); err != nil {
						b.Fatal(err)
					}
				}
				return
			}
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					i := next.Add(1)
					if _, err := queue.Question(b.Context(), row(i, 4+int(i%20))); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
