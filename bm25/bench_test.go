package bm25

import (
	"context"
	"testing"
)

// BenchmarkSearch measures top-100 searches of the union of eight domains with
// its development questions.
func BenchmarkSearch(b *testing.B) {
	s := loadGolden(b, "union")
	x := build(b, DefaultParams(), s.passages)
	var questions []string
	for _, run := range s.runs {
		questions = append(questions, s.questions[run.ID].Question)
	}
	b.ReportAllocs()
	var total SearchStats
	n := 0
	for b.Loop() {
		_, stats, err := x.alone.SearchStats(context.Background(), questions[n%len(questions)], 100)
		if err != nil {
			b.Fatal(err)
		}
		n++
		total.Postings += stats.Postings
		total.Decoded += stats.Decoded
		total.Windows += stats.Windows
		total.Skipped += stats.Skipped
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "q/s")
	b.ReportMetric(float64(total.Postings)/float64(n), "postings/op")
	b.ReportMetric(float64(total.Decoded)/float64(n), "decoded/op")
	b.ReportMetric(float64(total.Windows)/float64(n), "windows/op")
	b.ReportMetric(float64(total.Skipped)/float64(n), "skipped/op")
	b.ReportMetric(float64(x.Size())/float64(x.Docs()), "B/passage")
}

// BenchmarkBuild measures indexing passages into a file.
func BenchmarkBuild(b *testing.B) {
	s := loadGolden(b, "union")
	n := 0
	for b.Loop() {
		builder := NewBuilder(DefaultParams())
		for _, p := range s.passages {
			if err := builder.Add(p.Title, p.Text); err != nil {
				b.Fatal(err)
			}
		}
		if err := builder.Write(b.TempDir() + "/words"); err != nil {
			b.Fatal(err)
		}
		n += len(s.passages)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "passages/s")
}
