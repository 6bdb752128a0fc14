package search

import (
	"context"
	"fmt"
	"testing"

	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
)

// fixed is an index that answers at once, so that what is measured is the
// engine.
type fixed struct{ hits []rank.Hit }

func (f fixed) Search(_ context.Context, _ []float32, k int, _ bool) ([]rank.Hit, error) {
	return append([]rank.Hit(nil), f.hits[:min(k, len(f.hits))]...), nil
}

func (f fixed) Scores(_ context.Context, _ []float32, _ []rank.Ordinal, out []float32) error {
	for i := range out {
		out[i] = float32(i%7) / 10
	}
	return nil
}

type fixedWords struct{ fixed }

func (f fixedWords) Search(ctx context.Context, _ string, k int) ([]rank.Hit, error) {
	return f.fixed.Search(ctx, nil, k, false)
}

func (f fixedWords) Scores(ctx context.Context, _ string, passages []rank.Ordinal, out []float32) error {
	return f.fixed.Scores(ctx, nil, passages, out)
}

func (f fixedWords) UpperBound(context.Context, string) (float64, error) { return 100, nil }

func (f fixedWords) Rarities(_ context.Context, texts []string) ([][]storage.Rarity, error) {
	return make([][]storage.Rarity, len(texts)), nil
}

func (f fixedWords) Explain(context.Context, string, rank.Ordinal) ([]storage.TermScore, error) {
	return nil, nil
}

type fixedEncoder struct{ vector []float32 }

func (f *fixedEncoder) EncodeQuestion(context.Context, string) ([]float32, error) {
	return f.vector, nil
}

func (*fixedEncoder) QuestionTokens(string) (int, bool) { return 0, false }

func (*fixedEncoder) KnownWords(string) (words, whole, unknown int) { return 0, 0, 0 }

func (*fixedEncoder) Readable(string) float64 { return 1 }

// BenchmarkSearch measures the engine's own share of a search: sources answer
// at once with 100 hits each, 10 results are returned.
func BenchmarkSearch(b *testing.B) {
	for _, method := range []string{"rrf", "sum", "hybrid", "muf"} {
		for _, experts := range []int{1, 7} {
			b.Run(fmt.Sprintf("%s/%d experts", method, experts), func(b *testing.B) {
				s := newStage("ABCDEFG"[:experts], 500)
				for i := range s.config.Experts {
					x := &s.config.Experts[i]
					s.library.shelf.vectors[x.Name] = fixed{spreadHits(i)}
					x.Encoder = &fixedEncoder{draw(uint64(i), "q")}
					x.Info.Calibration.Depth = 100
				}
				s.library.shelf.words = fixedWords{fixed{spreadHits(99)}}
				s.config.Defaults.Candidates = 100
				e := s.engine(b)
				b.ReportAllocs()
				for b.Loop() {
					r := Request{Question: askedOften, Fusion: methodsOf(method)}
					if _, err := e.Search(context.Background(), Caller{}, r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func spreadHits(seed int) []rank.Hit {
	hits := make([]rank.Hit, 100)
	for i := range hits {
		hits[i] = rank.Hit{Ordinal: rank.Ordinal((i*(3+seed) + seed*17) % 499), Score: float32(100-i) / 100}
	}
	return hits
}
