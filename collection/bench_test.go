package collection

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"conclave/corpus"
)

// BenchmarkBuild indexes the words of 20,000 passages.
func BenchmarkBuild(b *testing.B) {
	passages := randomPassages(1, 20000)
	dir := b.TempDir()
	for i := range b.N {
		if _, err := Build(b.Context(), filepath.Join(dir, fmt.Sprint(i)), of(passages), BuildOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(passages))/b.Elapsed().Seconds(), "passages/s")
}

// BenchmarkApply acknowledges single passages for 64 callers at once: what
// group commit is for. Compare with -bench 'Apply/1$', which syncs for each.
func BenchmarkApply(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			dir := built(b, BuildOptions{}, []corpus.Passage{{ID: "first", Text: "x"}})
			l := lively(b, osDisk{}, dir, LiveOptions{FlushAfter: time.Hour, FlushPassages: 1 << 30})
			var n atomic.Int64
			b.SetParallelism(callers)
			b.ResetTimer()
			work := func() error {
				i := n.Add(1)
				_, err := l.Apply(b.Context(), []Change{put(corpus.Passage{ID: fmt.Sprint(i), Text: fmt.Sprintf("some text of a passage, number %d", i)})})
				return err
			}
			if callers == 1 {
				for range b.N {
					if err := work(); err != nil {
						b.Fatal(err)
					}
				}
			} else {
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := work(); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "passages/s")
		})
	}
}

// BenchmarkIngest puts 20,000 passages in groups of 256 and waits until
// searches see them, merges included.
func BenchmarkIngest(b *testing.B) {
	for range b.N {
		dir := built(b, BuildOptions{}, []corpus.Passage{{ID: "first", Text: "x"}})
		l := lively(b, osDisk{}, dir, LiveOptions{})
		const total, group = 20000, 256
		for i := 0; i < total; i += group {
			changes := make([]Change, 0, group)
			for j := range group {
				changes = append(changes, put(grown(i+j)))
			}
			if _, err := l.Apply(b.Context(), changes); err != nil {
				b.Fatal(err)
			}
		}
		if err := l.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(total*float64(b.N)/b.Elapsed().Seconds(), "passages/s")
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
