package completion

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
)

// BenchmarkMillion collects and completes in the headings of a million passages, of 400,000 different ones, and in as
// many titles, of which a collection suggests the 50,000 most frequent of each. It reports the time and memory that the
// index takes, and the median and the slowest hundredth of completions of headings that are typed letter by letter,
// every fifth with a mistake.
func BenchmarkMillion(b *testing.B) {
	const passages, different, suggested = 1_000_000, 400_000, 50_000
	random := rand.New(rand.NewPCG(1, 0))
	var entries []Entry
	for _, kind := range []Kind{Heading, Document} {
		all := generated(random, different, 200_000)
		counts := make([]int, different)
		for range passages {
			counts[int(different*random.Float64()*random.Float64())]++
		}
		for i := range all {
			all[i].Kind = kind
			all[i].Passages = counts[i]
		}
		slices.SortFunc(all, func(x, y Entry) int { return y.Passages - x.Passages })
		entries = append(entries, all[:suggested]...)
	}
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		began := time.Now()
		x := New(entries)
		b.ReportMetric(time.Since(began).Seconds(), "s/index")
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB/index")
		var took []float64
		for range 1000 {
			heading := []rune(x.folded[random.IntN(len(x.folded))])
			if random.IntN(5) == 0 && len(heading) > 6 {
				heading[2+random.IntN(4)] = 'q'
			}
			for n := 1; n <= min(len(heading), 16); n++ {
				began := time.Now()
				x.Complete(string(heading[:n]), 8)
				took = append(took, float64(time.Since(began).Nanoseconds())/1e6)
			}
		}
		slices.Sort(took)
		b.ReportMetric(took[len(took)/2], "p50-ms")
		b.ReportMetric(took[len(took)*99/100], "p99-ms")
	}
}
