package folder

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
)

// BenchmarkBuild indexes the words of 20,000 passages.
func BenchmarkBuild(b *testing.B) {
	passages := randomPassages(1, 20000)
	dir := b.TempDir()
	for i := range b.N {
		if _, err := Build(b.Context(), filepath.Join(dir, fmt.Sprint(i)), of(passages), store.BuildOptions{}); err != nil {
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
			dir := built(b, store.BuildOptions{}, []corpus.Passage{{ID: "first", Text: "x"}})
			l := lively(b, disk.OS{}, dir, LiveOptions{FlushAfter: time.Hour, FlushPassages: 1 << 30})
			var n atomic.Int64
			b.SetParallelism(callers)
			b.ResetTimer()
			work := func() error {
				i := n.Add(1)
				_, err := l.Apply(
					b.Context(),
					[]store.Change{put(corpus.Passage{ID: fmt.Sprint(i), Text: fmt.Sprintf("some text of a passage, number %d", i)})},
				)
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
		dir := built(b, store.BuildOptions{}, []corpus.Passage{{ID: "first", Text: "x"}})
		l := lively(b, disk.OS{}, dir, LiveOptions{})
		const total, group = 20000, 256
		for i := 0; i < total; i += group {
			changes := make([]store.Change, 0, group)
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

// BenchmarkOpen opens a collection of n passages and one of ten times as many.
func BenchmarkOpen(b *testing.B) {
	e := &hashEncoder{name: "a", dimension: 64}
	for _, n := range []int{5_000, 50_000} {
		dir := built(
			b,
			store.BuildOptions{Experts: []store.PassageEncoder{e}, Index: store.Index{EfConstruction: 20, M: 8}},
			randomPassages(1, n),
		)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c, err := Open(dir)
				if err != nil {
					b.Fatal(err)
				}
				if err := c.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTies searches 20,000 passages of which all have the same score, in
// five segments: the worst case of putting ties in the order of their ids.
func BenchmarkTies(b *testing.B) {
	var passages []corpus.Passage
	for i := range 20_000 {
		passages = append(passages, corpus.Passage{ID: fmt.Sprint("p", i), Text: "windmill"})
	}
	g := opened(b, built(b, store.BuildOptions{}, split(1, passages, 5)...))
	for b.Loop() {
		if _, err := g.Words().Search(b.Context(), "windmill", 100); err != nil {
			b.Fatal(err)
		}
	}
}
