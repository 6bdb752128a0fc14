package fusion

import (
	"math"
	"testing"

	"example.org/conclave/internal/rank"
)

// holding returns keys of which every passage holds those in set, where bit i stands for list[i].
func holding(set uint64, list ...Key) Keys {
	return Keys{List: list, SetOf: func(rank.Ordinal) uint64 { return set }}
}

// TestHeldByHand: what a passage holds, worked out on paper.
func TestHeldByHand(t *testing.T) {
	code, common, word := Key{Rarity: .9, Code: 1}, Key{Rarity: .55, Code: 1}, Key{Rarity: .6}
	pair := Key{Rarity: .9, Pair: true, Of: 3}
	for name, x := range map[string]struct {
		keys   Keys
		want   [heldSignals]float64
		others float64
	}{
		"nothing is known": {Keys{}, [heldSignals]float64{}, 1},
		// (.6 - .25) / .45 of 2 words beside it
		"a code that it has": {holding(1, code, word), [heldSignals]float64{codesHeld: 1}, 0},
		"a code beside a word": {holding(3, code, word),
			[heldSignals]float64{codesHeld: 1 - .35/.9, shortAllHeld: .5 * .35 / .9}, .35 / .9},
		"a code among the words": {holding(31, code, word, word, word, word), [heldSignals]float64{shortAllHeld: .5}, 1},
		// (.55 - .4) / .3 = .5
		"a code that is not so rare": {holding(1, common, word), [heldSignals]float64{codesHeld: .5}, .5},
		"a code of few characters": {holding(1, Key{Rarity: .9, Code: .5}, word),
			[heldSignals]float64{codesHeld: .5}, .5},
		"a number of a digit":  {holding(1, Key{Rarity: .9}, word), [heldSignals]float64{}, 1},
		"a code that it lacks": {holding(0, code, word), [heldSignals]float64{codesMissing: 1}, 0},
		"a code that it lacks beside a word": {holding(2, code, word), [heldSignals]float64{codesMissing: 1 - .35/.9},
			.35 / .9},
		// 1.5 of codes, of which it has 1
		"one code of two": {holding(1|4, code, common, word),
			[heldSignals]float64{codesHeld: (1 - .35/.9) / 1.5, codesMissing: (1 - .35/.9) * .5 / 1.5}, .35 / .9},
		"a name alone": {holding(7, word, word, pair), [heldSignals]float64{nameHeld: 1, shortAllHeld: .5}, 1},
		"a name beside a word": {holding(15, word, word, pair, Key{Rarity: .2}),
			[heldSignals]float64{nameHeld: .5, shortAllHeld: .5}, 1},
		"a pair of common words": {holding(7, Key{Rarity: .3}, word, pair), [heldSignals]float64{shortAllHeld: .5}, 1},
		"a name that it lacks":   {holding(2, word, word, pair), [heldSignals]float64{}, 1},
		"all words":              {holding(3, word, word), [heldSignals]float64{shortAllHeld: .5}, 1},
		"one word":               {holding(1, word), [heldSignals]float64{}, 1},
	} {
		got, others := x.keys.heldSignals(1, .5)
		near(t, name, got[:], x.want[:])
		near(t, name, []float64{others}, []float64{x.others})
	}
}

// TestKeysChangeNoOtherSignal: of a question without codes and pairs, the signals are those
// that it has where nobody knows its words, to the bit; of a code alone, they are 0.
func TestKeysChangeNoOtherSignal(t *testing.T) {
	c, sources := answeredWithLate(t)
	first := Ranking{Items: []Item{{Ordinal: 2}}}
	w := Wording{Words: 4, Known: .75}
	want := Signals(c, sources, first, w)
	w.Keys = holding(1, Key{Rarity: .6}, Key{Rarity: 1})
	got := Signals(c, sources, first, w)
	w.Keys = holding(1, Key{Rarity: 1, Code: 1})
	alone := Signals(c, sources, first, w)
	for i := range ExactFrom {
		if got[i] != want[i] || alone[i] != 0 {
			t.Errorf("%s: %v and %v, want %v and 0", SignalNames()[i], got[i], alone[i], want[i])
		}
	}
	if alone[ExactFrom+codesHeld] != 1 {
		t.Errorf("%v of a code that is there", alone[ExactFrom:])
	}
}

// TestExactOutweighs: words weigh e^(exact · share) times as much, phrases with them, and
// as ever, to the bit, where no word is exact.
func TestExactOutweighs(t *testing.T) {
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
	g.Exact = 3
	if same := g.Weigh(nil, sources, FeaturesOf(c, sources)); !equalWeights(
		before, same, func(SourceKind) float64 { return 1 }, sources,
	) {
		t.Errorf("%v, before %v", same, before)
	}
	for i := range sources {
		if sources[i].Kind == Lexical {
			sources[i].Exact = .5
		}
	}
	more := g.Weigh(nil, sources, FeaturesOf(c, sources))
	if !equalWeights(before, more, func(k SourceKind) float64 {
		if k == Lexical || k == Phrases {
			return math.Exp(1.5)
		}
		return 1
	}, sources) {
		t.Errorf("%v, before %v", more, before)
	}
}

func equalWeights(before, after []Source, times func(SourceKind) float64, sources []ObservedSource) bool {
	for i := range before {
		want := before[i].Weight * times(sources[i].Kind)
		if times(sources[i].Kind) == 1 && after[i].Weight != want || math.Abs(after[i].Weight-want) > 1e-12*want {
			return false
		}
	}
	return true
}
