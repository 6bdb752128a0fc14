package fusion

import (
	"math"
	"slices"
	"testing"

	"example.org/conclave/internal/rank"
)

// lateTable returns five passages, found by two dense sources and BM25, which late
// interaction scores: columns 0, 1, 2, 3.
func lateTable(t *testing.T) (*Candidates, []ObservedSource) {
	t.Helper()
	c := new(Candidates)
	lists := [][]rank.Hit{
		{{Ordinal: 1, Score: .9}, {Ordinal: 2, Score: .8}},
		{{Ordinal: 9, Score: .7}},
		{{Ordinal: 2, Score: 12}, {Ordinal: 4, Score: 6}, {Ordinal: 5, Score: 3}},
		nil,
	}
	if err := c.Reset(lists); err != nil {
		t.Fatal(err)
	}
	for s, scores := range [][]float32{{.1, .1, .1}, {.2, .2, .2, .2}, {0, 0}} {
		if err := c.Complete(s, scores); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Follow(3, []float32{.5, .2, .4, .3, .6}); err != nil { // of 1, 2, 4, 5, 9
		t.Fatal(err)
	}
	return c, []ObservedSource{
		{Column: 0, Kind: Specialist, Familiarity: .25, Confidence: -1}, {Column: 1, Kind: Generalist, Confidence: -1},
		{Column: 2, Kind: Lexical, UpperBound: 24}, {Column: 3, Kind: Late, Confidence: -1},
	}
}

// TestLateFeaturesByHand: of all sources, and without the one that alone found
// passage 9, which then is nobody's candidate.
func TestLateFeaturesByHand(t *testing.T) {
	c, sources := lateTable(t)
	for _, of := range []struct {
		sources []ObservedSource
		want    []float64
	}{
		{sources, []float64{.25, .6, .1, .4, .3, .5, math.Log(math.Sqrt(.02) + .005), -1}},
		{slices.Delete(slices.Clone(sources), 1, 2), []float64{.25, .5, .1, .3, .3, .5, math.Log(math.Sqrt(.0125) + .005),
			-1}},
		{[]ObservedSource{sources[1], sources[3]}, []float64{0, .6, 0, 0, 0, 0, math.Log(.005), 0}},
	} {
		got := FeaturesOf(c, of.sources).Late
		for i := range of.want {
			if len(got) != len(of.want) || math.Abs(got[i]-of.want[i]) > 1e-6 {
				t.Errorf("%d sources: %v, want %v", len(of.sources), got, of.want)
				break
			}
		}
	}
	if f := FeaturesOf(c, sources[:3]); f.Late != nil {
		t.Errorf("features of late interaction that is not there: %v", f.Late)
	}
	if len(LateFeatureNames()) != lateFeatures {
		t.Errorf("%d names for %d features", len(LateFeatureNames()), lateFeatures)
	}
}

// TestFollowerFindsNothing: its scores count, also under Missing Min; it has no
// ranks, and a table without the others' sources has none of their passages.
func TestFollowerFindsNothing(t *testing.T) {
	c, sources := lateTable(t)
	g := &Gate{Dense: make([]float64, denseFeatures), Lexical: make([]float64, lexicalFeatures), Words: -1000,
		Tokens: math.Log(10), Late: make([]float64, lateFeatures)}
	for _, missing := range []Missing{Exact, Min} {
		r, err := Gated(c, g, sources, missing, 5)
		if err != nil {
			t.Fatal(err)
		}
		if r.Items[0].Ordinal != 9 || math.Abs(r.Weights[3]-10) > 1e-9 {
			t.Errorf("%s: first is %d, the weights %v", missing, r.Items[0].Ordinal, r.Weights)
		}
		for _, item := range r.Items {
			p := item.Parts[3]
			if p.Rank != 0 || p.Origin != FromScored || p.Origin.String() != "scored" || p.Score == 0 {
				t.Errorf("%s: passage %d: %+v", missing, item.Ordinal, p)
			}
		}
		few, err := Gated(c, g, []ObservedSource{sources[0], sources[2], sources[3]}, missing, 5)
		if err != nil {
			t.Fatal(err)
		}
		if len(few.Items) != 4 || few.Items[0].Ordinal != 1 {
			t.Errorf("%s: without source 1: %d items, the first %d", missing, len(few.Items), few.Items[0].Ordinal)
		}
	}
	only, err := c.Only([]int{0, 3})
	if err != nil || only.Len() != 2 || only.Ordinal(0) != 1 || only.Ordinal(1) != 2 {
		t.Errorf("only source 0 and late interaction: %d candidates (%v)", only.Len(), err)
	}
	g.Late = nil
	if r, err := Gated(c, g, sources, Exact, 5); err != nil || r.Weights[3] != 0 {
		t.Errorf("a gate without coefficients for late interaction: %v, %v", r.Weights, err)
	}
	g.Late = make([]float64, 2)
	if err := g.Check(); err == nil {
		t.Error("a gate with two coefficients for late interaction was accepted")
	}
}
