package bm25

import (
	"math"
	"reflect"
	"testing"
)

// TestRarities: by hand over three passages, of which two have red, one fox, none yak.
func TestRarities(t *testing.T) {
	x := build(t, DefaultParams(), texts("red fox", "red hen", "blue owl"))
	idf := func(df float64) float64 { return math.Log(1 + (3-df+.5)/(df+.5)) }
	got, err := x.alone().Rarities("A fox and the Red fox, no yak")
	if err != nil || len(got) != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	for i, want := range []Rarity{{"fox", 2, 1, float32(idf(1)), idf(1) / idf(0)}, {"red", 1, 2, float32(idf(2)), idf(2) / idf(0)}, {"yak", 1, 0, float32(idf(0)), 1}} {
		g := got[i]
		if math.Abs(g.Relative-want.Relative) > 1e-6 || math.Abs(float64(g.IDF-want.IDF)) > 1e-6 {
			t.Errorf("%+v, want %+v", g, want)
		}
		g.IDF, g.Relative, want.IDF, want.Relative = 0, 0, 0, 0
		if !reflect.DeepEqual(g, want) {
			t.Errorf("%+v, want %+v", g, want)
		}
	}
	if got, err := x.alone().Rarities("... the"); err != nil || got != nil {
		t.Errorf("%v, %v of a text without terms", got, err)
	}
}
