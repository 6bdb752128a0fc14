package collection

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"conclave/corpus"
)

// BenchmarkTies searches 20,000 passages of which all have the same score, in
// five segments: the worst case of putting ties in the order of their ids.
func BenchmarkTies(b *testing.B) {
	var passages []corpus.Passage
	for i := range 20_000 {
		passages = append(passages, corpus.Passage{ID: fmt.Sprint("p", i), Text: "windmill"})
	}
	g := opened(b, built(b, BuildOptions{}, split(1, passages, 5)...))
	for b.Loop() {
		if _, err := g.Words().Search(b.Context(), "windmill", 100); err != nil {
			b.Fatal(err)
		}
	}
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
	dir := built(b, BuildOptions{}, split(1, passages, 4)...)
	for range b.N {
		b.StopTimer()
		copied := filepath.Join(b.TempDir(), "copy")
		if _, err := Snapshot(b.Context(), dir, copied); err != nil {
			b.Fatal(err)
		}
		w, err := OpenWriter(copied)
		if err != nil {
			b.Fatal(err)
		}
		var names []string
		for _, s := range w.snapshot().Segments {
			names = append(names, s.Name)
		}
		b.StartTimer()
		if _, err := w.Merge(b.Context(), names, BuildOptions{}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
