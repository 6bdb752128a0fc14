package bm25

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/disk"
)

// BenchmarkSearch measures top-100 searches of the union of eight domains with
// its development questions, by both analyses.
func BenchmarkSearch(b *testing.B) {
	for _, analysis := range []forms.Analysis{forms.Lucene, forms.Unicode} {
		b.Run(analysis.String(), func(b *testing.B) { benchmarkSearch(b, analysis) })
	}
}

func benchmarkSearch(b *testing.B, analysis forms.Analysis) {
	s := loadGolden(b, "union")
	params := DefaultParams()
	params.Analysis = analysis
	x := build(b, params, s.passages)
	alone := x.alone()
	var questions []string
	for _, run := range s.runs {
		questions = append(questions, s.questions[run.ID].Question)
	}
	b.ReportAllocs()
	var total searchStats
	n := 0
	for b.Loop() {
		_, stats, err := alone.search(context.Background(), questions[n%len(questions)], 100, nil)
		if err != nil {
			b.Fatal(err)
		}
		n++
		total.postings += stats.postings
		total.decoded += stats.decoded
		total.windows += stats.windows
		total.skipped += stats.skipped
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "q/s")
	b.ReportMetric(float64(total.postings)/float64(n), "postings/op")
	b.ReportMetric(float64(total.decoded)/float64(n), "decoded/op")
	b.ReportMetric(float64(total.windows)/float64(n), "windows/op")
	b.ReportMetric(float64(total.skipped)/float64(n), "skipped/op")
	b.ReportMetric(float64(x.Size())/float64(x.Docs()), "B/passage")
}

// BenchmarkSelection measures top-100 searches among all passages and among a share of them.
func BenchmarkSelection(b *testing.B) {
	g := loadGolden(b, "union")
	x := build(b, DefaultParams(), g.passages)
	alone := x.alone()
	var questions []string
	for _, run := range g.runs {
		questions = append(questions, g.questions[run.ID].Question)
	}
	b.Run("none", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			if _, err := alone.Search(context.Background(), questions[n%len(questions)], 100, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, share := range []float64{1, 0.5, 0.05, 0.005, 0.0005} {
		b.Run(fmt.Sprint(share), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			among := make([]uint64, (x.Docs()+63)/64)
			for p := range x.Docs() {
				if rng.Float64() < share {
					among[p/64] |= 1 << (p % 64)
				}
			}
			for n := 0; b.Loop(); n++ {
				if _, err := alone.Search(context.Background(), questions[n%len(questions)], 100, Selection{among}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMergeOrdered measures merging segments into which passages were
// dealt out one by one, beside BenchmarkBuild, which is what it saves.
func BenchmarkMergeOrdered(b *testing.B) {
	g := loadGolden(b, "union")
	const parts = 8
	var dealt [parts][]goldenPassage
	var order []SegmentPassage
	for i, p := range g.passages {
		order = append(order, SegmentPassage{Segment: i % parts, Passage: uint32(len(dealt[i%parts]))})
		dealt[i%parts] = append(dealt[i%parts], p)
	}
	for _, params := range []Params{
		{}, {Phrases: true}, {Analysis: forms.Unicode}, {Analysis: forms.Unicode, Phrases: true},
	} {
		b.Run(
			params.Analysis.String()+map[bool]string{false: "-words", true: "-phrases"}[params.Phrases],
			func(b *testing.B) {
				params.K1, params.B = DefaultParams().K1, DefaultParams().B
				var segments []Segment
				for _, part := range dealt {
					segments = append(segments, Segment{Index: build(b, params, part)})
				}
				path := b.TempDir() + "/words"
				for b.Loop() {
					if err := MergeOrdered(context.Background(), disk.OS{}, path, slices.Values(order), segments...); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N*len(order))/b.Elapsed().Seconds(), "passages/s")
			},
		)
	}
}

// BenchmarkBuild measures indexing passages into a file, of words alone and with
// their phrases, by both analyses.
func BenchmarkBuild(b *testing.B) {
	s := loadGolden(b, "union")
	for _, params := range []Params{
		{}, {Phrases: true}, {Analysis: forms.Unicode}, {Analysis: forms.Unicode, Phrases: true},
	} {
		b.Run(
			params.Analysis.String()+map[bool]string{false: "-words", true: "-phrases"}[params.Phrases],
			func(b *testing.B) {
				params.K1, params.B = DefaultParams().K1, DefaultParams().B
				n := 0
				path := b.TempDir() + "/words"
				for b.Loop() {
					builder := NewBuilder(params)
					for _, p := range s.passages {
						if err := builder.Add(p.Title, p.Text); err != nil {
							b.Fatal(err)
						}
					}
					if err := builder.Write(disk.OS{}, path); err != nil {
						b.Fatal(err)
					}
					n += len(s.passages)
				}
				x, err := Open(disk.OS{}, path)
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = x.Close() }()
				b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "passages/s")
				b.ReportMetric(float64(x.Size())/float64(x.Docs()), "B/passage")
				b.ReportMetric(float64(x.Vocabulary()), "terms")
			},
		)
	}
}

// BenchmarkPhrases measures top-100 searches of both readings of one index, with
// the same questions.
func BenchmarkPhrases(b *testing.B) {
	g := loadGolden(b, "union")
	params := DefaultParams()
	params.Phrases = true
	x := build(b, params, g.passages)
	for name, s := range map[string]*Searcher{"words": x.alone(), "phrases": x.Phrases()} {
		b.Run(name, func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				if _, err := s.Search(context.Background(), g.questions[g.runs[n%len(g.runs)].ID].Question, 100, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
