package fusion

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"example.org/conclave/internal/rank"
)

// answeredWithLate returns the table of the gate's tests with late interaction, and
// random passages for it and for the base.
func answeredWithLate(t *testing.T) (*Candidates, []ObservedSource) {
	t.Helper()
	var c Candidates
	if err := c.Reset([][]rank.Hit{
		{{Ordinal: 2, Score: .8}, {Ordinal: 1, Score: .5}},
		{{Ordinal: 4, Score: 10}, {Ordinal: 1, Score: 5}},
		nil,
	}); err != nil {
		t.Fatal(err)
	}
	for column, scores := range [][]float32{{.3}, {1}} { // of passage 4 and of passage 2
		if err := c.Complete(column, scores); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Follow(2, []float32{.5, .9, .6}); err != nil { // of passages 1, 2 and 4
		t.Fatal(err)
	}
	return &c, []ObservedSource{
		{
			Column:     0,
			Kind:       Generalist,
			Confidence: -1,
			Random:     []rank.Hit{{Ordinal: 7, Score: .1}, {Ordinal: 2, Score: .8}, {Ordinal: 9, Score: .3}},
		},
		{Column: 1, Kind: Lexical, UpperBound: 20},
		{Column: 2, Kind: Late, Confidence: -1, Random: []rank.Hit{{Ordinal: 7, Score: .4}, {Ordinal: 9, Score: .4}}},
	}
}

// TestSignalsByHand: passage 2 is first. Late: .9 is .3 ahead of .6 and .4 of the
// last; .5 above the random passages, which do not differ. Dense: .8 is .3 ahead of
// .5; of random passages it is itself one, the others' mean is .2 and their
// deviation .1. Words: 1 is 9 behind 10, of 20 at most; two of late interaction's
// first ten are BM25's. Late and dense have it first, words have not.
func TestSignalsByHand(t *testing.T) {
	c, sources := answeredWithLate(t)
	r := Ranking{Items: []Item{{Ordinal: 2}, {Ordinal: 4}}}
	want := []float64{.3, .4, .5, 50, .3, .6, 6, math.Log(2), -9. / 20, 1. / 20, .2, 2, .75, 0, 0, 0, 0, 0, 0, 0}
	for i, got := range Signals(c, sources, r, Wording{Words: 4, Known: .75}) {
		if math.Abs(got-want[i]) > 1e-6*math.Max(1, math.Abs(want[i])) { // scores have seven digits
			t.Errorf("%s: %v, want %v", SignalNames()[i], got, want[i])
		}
	}
	weighed := append(sources[:3:3], ObservedSource{Column: 0, Kind: Specialist, Familiarity: .6})
	if got := Signals(c, weighed, r, Wording{})[13]; got != .6 {
		t.Errorf("the highest familiarity is %v", got)
	}
	// Passage 4 is .2 above the random ones for late interaction, and .1 below them for the base.
	for words, want := range map[int]float64{0: .3, 1: .3, 2: .225, 4: .075, 5: 0, 9: 0} {
		got := Signals(c, sources, Ranking{Items: []Item{{Ordinal: 4}}}, Wording{Words: words})[14]
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("of %d words, late interaction is beyond the base by %v, not %v", words, got, want)
		}
	}
	if got := Signals(c, sources, Ranking{}, Wording{Words: 1, Known: 1}); len(got) != len(SignalNames()) || got[12] != 0 {
		t.Errorf("without an answer %v", got)
	}
	if !Closeness(sources) || Closeness(sources[:2]) || Closeness(weighed[1:]) {
		t.Error("closeness takes a generalist, words and late interaction")
	}
	other := slices.Clone(sources)
	for i := range other {
		other[i].Foreign = true
	}
	if foreign, late := ForeignCloseness(other); Closeness(other) || !foreign || !late {
		t.Error("that of another encoder is not the base's")
	}
	if foreign, _ := ForeignCloseness(sources); foreign {
		t.Error("that of the base is taken for another encoder's")
	}
}

// TestSignalsAreNotOfWeights: what the gate made of the scores does not matter, but
// for which passage is first.
func TestSignalsAreNotOfWeights(t *testing.T) {
	c, sources := answeredWithLate(t)
	one := Signals(
		c, sources, Ranking{Items: []Item{{Ordinal: 1, Score: 3}, {Ordinal: 2, Score: 1}}}, Wording{Words: 4, Known: 1},
	)
	two := Signals(c, sources, Ranking{Items: []Item{{Ordinal: 1, Score: .1}}}, Wording{Words: 4, Known: 1})
	if !reflect.DeepEqual(one, two) {
		t.Errorf("%v, and with other weights %v", one, two)
	}
}

// TestWithout: a table without some passages is the one made of lists without them.
func TestWithout(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for range 200 {
		gone := func(o rank.Ordinal) bool { return o%3 == 0 }
		var all, left [][]rank.Hit
		for range 3 {
			var hits, kept []rank.Hit
			score := float32(1)
			for _, o := range rng.Perm(30)[:rng.IntN(20)] {
				score -= rng.Float32() * .01
				h := rank.Hit{Ordinal: rank.Ordinal(o), Score: score}
				hits = append(hits, h)
				if !gone(h.Ordinal) {
					kept = append(kept, h)
				}
			}
			all, left = append(all, hits), append(left, kept)
		}
		var c, want Candidates
		if err := c.Reset(all); err != nil {
			t.Fatal(err)
		}
		if err := want.Reset(left); err != nil {
			t.Fatal(err)
		}
		got := c.Without(gone)
		if len(got.ordinals) != len(want.ordinals) ||
			len(want.ordinals) > 0 &&
				(!reflect.DeepEqual(got.ordinals, want.ordinals) || !reflect.DeepEqual(got.cells, want.cells)) ||
			!reflect.DeepEqual(got.columns, want.columns) {
			t.Fatalf("%v %v %v, want %v %v %v", got.ordinals, got.cells, got.columns, want.ordinals, want.cells, want.columns)
		}
	}
}
