package collection

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"conclave/corpus"
)

// BenchmarkSearchBesideMerge compares searches (top 100 of words and of the
// graphs) while nothing else happens with searches while four segments of real
// vectors are merged on one thread.
func BenchmarkSearchBesideMerge(b *testing.B) {
	const n, parts = 12_000, 4
	e := &readyEncoder{vectors: halves(b, "vectors/passages.f16", n)}
	questions := halves(b, "vectors/questions.f16", 300)
	var passages []corpus.Passage
	for i := range n {
		passages = append(passages, corpus.Passage{ID: fmt.Sprintf("%05d", i), Text: fmt.Sprintf("word%d word%d word%d", i%7, i%101, i%1009)})
	}
	o := BuildOptions{Experts: []PassageEncoder{e}}
	dir := built(b, o, split(1, passages, parts)...)
	for range b.N {
		copied := filepath.Join(b.TempDir(), "copy")
		if _, err := Snapshot(b.Context(), dir, copied); err != nil {
			b.Fatal(err)
		}
		g := opened(b, copied)
		v, _ := g.Expert("real")
		measure := func(until func() bool) (p50, p99 float64, count int) {
			var took []float64
			for i := 0; !until() || len(took) < 300; i++ {
				began := time.Now()
				if _, err := v.Search(b.Context(), questions[i%len(questions)], 100, false); err != nil {
					b.Fatal(err)
				}
				if _, err := g.Words().Search(b.Context(), fmt.Sprintf("word%d word%d", i%7, i%1009), 100); err != nil {
					b.Fatal(err)
				}
				took = append(took, float64(time.Since(began).Microseconds()))
			}
			slices.Sort(took)
			return took[len(took)/2], took[len(took)*99/100], len(took)
		}
		measure(func() bool { return true }) // warms
		began := time.Now()
		p50, p99, _ := measure(func() bool { return time.Since(began) > 2*time.Second })
		w, err := OpenWriter(copied)
		if err != nil {
			b.Fatal(err)
		}
		var names []string
		for _, s := range w.snapshot().Segments {
			names = append(names, s.Name)
		}
		merged := make(chan error, 1)
		began = time.Now()
		go func() {
			_, err := w.Merge(b.Context(), names, BuildOptions{Threads: 1})
			merged <- err
		}()
		done := false
		p50m, p99m, count := measure(func() bool {
			select {
			case err := <-merged:
				if err != nil {
					b.Error(err)
				}
				done = true
			default:
			}
			return done
		})
		b.ReportMetric(p50, "idle-p50-µs")
		b.ReportMetric(p99, "idle-p99-µs")
		b.ReportMetric(p50m, "merging-p50-µs")
		b.ReportMetric(p99m, "merging-p99-µs")
		b.ReportMetric(time.Since(began).Seconds(), "merge-s")
		b.ReportMetric(float64(count), "searches")
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen opens a collection of n passages and one of ten times as many.
func BenchmarkOpen(b *testing.B) {
	e := &hashEncoder{name: "a", dimension: 64}
	for _, n := range []int{5_000, 50_000} {
		dir := built(b, BuildOptions{Experts: []PassageEncoder{e}, Index: Index{EfConstruction: 20, M: 8}}, randomPassages(1, n))
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
