package fusion

import (
	"math"
	"testing"

	"example.org/conclave/internal/rank"
)

// TestHeightsByHand: BM25 has late interaction's first ten of twelve high, but not
// its very first; scores that are all the same say nothing.
func TestHeightsByHand(t *testing.T) {
	var c Candidates
	dense := make([]rank.Hit, 12)
	words := make([]float32, 12)
	late := make([]float32, 12)
	for i := range dense {
		dense[i] = rank.Hit{Ordinal: rank.Ordinal(i), Score: .5}
		words[i] = 6
		late[i] = float32(12 - i)
	}
	words[0], words[10], words[11] = 12, 0, 0 // mean 5.5, late's first ten 6.6
	if err := c.Reset([][]rank.Hit{dense, {{Ordinal: 0, Score: 12}}, nil}); err != nil {
		t.Fatal(err)
	}
	if err := c.Complete(1, words[1:]); err != nil {
		t.Fatal(err)
	}
	if err := c.Follow(2, late); err != nil {
		t.Fatal(err)
	}
	sources := []ObservedSource{{Column: 0, Kind: Base}, {Column: 1, Kind: Lexical}, {Column: 2, Kind: Late}}
	f := FeaturesOf(&c, sources)
	for _, x := range []struct {
		name      string
		got, want float64
	}{
		{"height of late's", f.Lexical[wordsOfLate], 1.1 / 6.5},
		{"height in experts", f.Lexical[wordsInExperts], 0},
		{"height of words'", f.Late[lateOfWords], 1},
		{"spread of late", f.Late[lateSpread], math.Log(math.Sqrt(143./12) + .005)},
	} {
		if math.Abs(x.got-x.want) > 1e-6 {
			t.Errorf("%s: %v, want %v", x.name, x.got, x.want)
		}
	}
	alone := FeaturesOf(&c, []ObservedSource{sources[0], sources[2]})
	if alone.Lexical != nil || alone.Late[lateOfWords] != 0 || alone.Late[lateSpread] != f.Late[lateSpread] {
		t.Errorf("without words: %+v", alone)
	}
}
