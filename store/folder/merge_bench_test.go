package folder

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
)

// copyOf returns a writer of a copy of a collection, in another folder.
func copyOf(b *testing.B, dir string) (w *writer, copied string) {
	b.Helper()
	copied = filepath.Join(b.TempDir(), "copy")
	if _, err := Snapshot(b.Context(), dir, copied); err != nil {
		b.Fatal(err)
	}
	w, err := openWriter(disk.OS{}, copied)
	if err != nil {
		b.Fatal(err)
	}
	return w, copied
}

// BenchmarkMergeWords merges four segments of 20,000 passages of 100 words
// without experts.
func BenchmarkMergeWords(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(rng, 1.1, 5, 100_000)
	var passages []corpus.Passage
	for i := range 20_000 {
		var text strings.Builder
		for range 100 {
			_, _ = fmt.Fprintf(&text, "word%ding ", zipf.Uint64())
		}
		passages = append(passages, corpus.Passage{ID: fmt.Sprint("p", i), Text: text.String()})
	}
	dir := built(b, store.BuildOptions{}, split(1, passages, 4)...)
	for range b.N {
		b.StopTimer()
		w, _ := copyOf(b, dir)
		names := segmentNames(w)
		b.StartTimer()
		if _, err := w.merge(b.Context(), names, store.BuildOptions{}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSearchBesideMerge compares searches (top 100 of words and of the
// graphs) while nothing else happens with searches while four segments of real
// vectors are merged on one thread.
func BenchmarkSearchBesideMerge(b *testing.B) {
	const n, parts = 12_000, 4
	e := &readyEncoder{vectors: halves(b, "vectors/passages.f16", n)}
	questions := halves(b, "vectors/questions.f16", 300)
	var passages []corpus.Passage
	for i := range n {
		passages = append(
			passages,
			corpus.Passage{ID: fmt.Sprintf("%05d", i), Text: fmt.Sprintf("word%d word%d word%d", i%7, i%101, i%1009)},
		)
	}
	o := store.BuildOptions{Experts: []store.PassageEncoder{e}}
	dir := built(b, o, split(1, passages, parts)...)
	for range b.N {
		w, copied := copyOf(b, dir)
		names := segmentNames(w)
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
		merged := make(chan error, 1)
		began = time.Now()
		go func() {
			_, err := w.merge(b.Context(), names, store.BuildOptions{Threads: 1})
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
