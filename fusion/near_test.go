package fusion

import (
	"math"
	"reflect"
	"testing"

	"example.org/conclave/internal/rank"
)

// TestGateNearByHand: nearness weighs a share of what words weigh without it, words count less beside it, phrases as
// before, and neither changes where the texts are symbols. Without nearness, or with a gate that gives it no weight, a
// ranking has the bits that it had.
func TestGateNearByHand(t *testing.T) {
	table := func(lists int) *Candidates {
		var c Candidates
		if err := c.Reset([][]rank.Hit{
			{{Ordinal: 1, Score: .9}, {Ordinal: 2, Score: .7}},
			{{Ordinal: 2, Score: 10}, {Ordinal: 1, Score: 4}},
			{{Ordinal: 2, Score: 5}, {Ordinal: 1, Score: 2}},
			nil,
		}[:lists]); err != nil {
			t.Fatal(err)
		}
		if lists == 4 {
			if err := c.Follow(3, []float32{8, 3}); err != nil {
				t.Fatal(err)
			}
		}
		return &c
	}
	sources := []ObservedSource{
		{Column: 0, Kind: Generalist, Confidence: -1},
		{Column: 1, Kind: Lexical, UpperBound: 20},
		{Column: 2, Kind: Phrases},
		{Column: 3, Kind: Near},
	}
	g := Gate{
		Dense: make([]float64, denseFeatures), Lexical: make([]float64, lexicalFeatures),
		Words: math.Log(.1), Phrases: .5, Near: .7, BesideNear: .6,
	}
	gated := func(c *Candidates, g *Gate, sources []ObservedSource) Ranking {
		r, err := Gated(c, g, sources, Exact, 3)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := gated(table(4), &g, sources)
	near(t, "weights", r.Weights, []float64{1, .06, .05, .07})
	want := map[rank.Ordinal]float64{1: .9 + .24 + .1 + .56, 2: .7 + .6 + .25 + .21}
	for _, item := range r.Items {
		if math.Abs(item.Score-want[item.Ordinal]) > 1e-6 {
			t.Errorf("passage %d has %v, want %v", item.Ordinal, item.Score, want[item.Ordinal])
		}
		if part := item.Parts[3]; part.Origin != FromScored || part.Rank != 0 {
			t.Errorf("passage %d: nearness is %+v", item.Ordinal, part)
		}
	}
	for symbols, want := range map[float64][]float64{.5: {1, .08, .05, .035}, 1: {1, .1, .05, 0}, 2: {1, .1, .05, 0}} {
		code := []ObservedSource{sources[0], sources[1], sources[2], sources[3]}
		code[1].Symbols = symbols
		near(t, "weights among symbols", gated(table(4), &g, code).Weights, want)
	}
	with, without := FeaturesOf(table(4), sources), FeaturesOf(table(3), sources[:3])
	if !reflect.DeepEqual(with, without) {
		t.Errorf("features with nearness %v, without %v", with, without)
	}
	plain := g
	plain.Near, plain.BesideNear = 0, 0
	before := gated(table(3), &plain, sources[:3])
	if absent := gated(table(3), &g, sources[:3]); !reflect.DeepEqual(absent, before) {
		t.Errorf("without nearness %+v, by a gate that does not know it %+v", absent, before)
	}
	off := g
	off.Near = 0
	for i, item := range gated(table(4), &off, sources).Items {
		if item.Score != before.Items[i].Score || item.Ordinal != before.Items[i].Ordinal {
			t.Errorf("switched off: %+v, before %+v", item, before.Items[i])
		}
	}
	if signals := SourceSignals(table(4), sources, with, 3); signals != nil {
		t.Errorf("signals of nearness: %v", signals)
	}
	wordless := []ObservedSource{sources[0], sources[3]}
	near(t, "without words", gated(table(4), &g, wordless).Weights, []float64{1, 0, 0, 0})
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		for _, wrong := range []Gate{{Near: bad}, {BesideNear: bad}} {
			wrong.Dense, wrong.Lexical = g.Dense, g.Lexical
			if wrong.Check() == nil {
				t.Errorf("a gate was accepted: %+v", wrong)
			}
		}
	}
}

// TestSignalsWithNear: what confidence and verdict are computed from does not change where nearness takes part.
func TestSignalsWithNear(t *testing.T) {
	var with, without Candidates
	lists := [][]rank.Hit{
		{{Ordinal: 1, Score: .9}, {Ordinal: 2, Score: .7}},
		{{Ordinal: 2, Score: 10}, {Ordinal: 1, Score: 4}},
	}
	if err := without.Reset(lists); err != nil {
		t.Fatal(err)
	}
	if err := with.Reset(append(lists, nil)); err != nil {
		t.Fatal(err)
	}
	if err := with.Follow(2, []float32{8, 3}); err != nil {
		t.Fatal(err)
	}
	sources := []ObservedSource{
		{Column: 0, Kind: Base, Confidence: -1},
		{Column: 1, Kind: Lexical, UpperBound: 20},
		{Column: 2, Kind: Near},
	}
	r := Ranking{Items: []Item{{Ordinal: 1}}}
	got, want := Signals(&with, sources, r, Wording{}), Signals(&without, sources[:2], r, Wording{})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("signals with nearness %v, without %v", got, want)
	}
}
