package fusion

import (
	"math"
	"testing"
)

// TestSymbols: texts of words have none, source code is of symbols alone, and what is between counts in part.
func TestSymbols(t *testing.T) {
	prose := "The vote was held in May, the first of two. It was won by 52% (nobody had expected that), and a second one followed."
	code := "func (l *list) add(x int) {\n\tif l.n >= len(l.items) {\n\t\tl.items = append(l.items, x)\n\t}\n}"
	for _, c := range []struct {
		name  string
		texts []string
		want  float64
	}{
		{"nothing", nil, 0},
		{"white space", []string{" \n\t"}, 0},
		{"prose", []string{prose}, 0},
		{"another script", []string{"我们在十四天内退款。"}, 0},
		{"numbers", []string{"12 450 978 3312 45 1 22"}, 0},
		{"code", []string{code}, 1},
		{"seven letters of eight", []string{"abcdefg+"}, (1./8 - proseSymbols) / (codeSymbols - proseSymbols)},
		{"the same in several texts", []string{"abc", "defg", "+"}, (1./8 - proseSymbols) / (codeSymbols - proseSymbols)},
	} {
		if got := Symbols(c.texts); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestSymbolsWeighWords: words and phrases weigh e^(coefficient · share) times as much, other sources and prose as
// ever.
func TestSymbolsWeighWords(t *testing.T) {
	c, sources := answeredWithLate(t)
	g := Gate{
		Dense:   make([]float64, denseFeatures),
		Lexical: make([]float64, lexicalFeatures),
		Words:   -2,
		Phrases: .5,
		Tokens:  1,
		Late:    make([]float64, lateFeatures),
	}
	before := g.Weigh(nil, sources, FeaturesOf(c, sources))
	g.Symbols = -1.4
	for _, share := range []float64{0, .5, 1} {
		for i := range sources {
			if sources[i].Kind == Lexical {
				sources[i].Symbols = share
			}
		}
		after := g.Weigh(nil, sources, FeaturesOf(c, sources))
		if !equalWeights(before, after, func(k SourceKind) float64 {
			if k == Lexical || k == Phrases {
				return math.Exp(-1.4 * share)
			}
			return 1
		}, sources) {
			t.Errorf("a share of %v: %v, before %v", share, after, before)
		}
	}
}
