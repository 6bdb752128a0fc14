package bm25

import (
	"context"
	"math"
	"testing"
)

// TestUpperBound: a sum done by hand over three passages, and no score of any
// passage of the golden corpus comes above it.
func TestUpperBound(t *testing.T) {
	x := build(t, DefaultParams(), texts("red fox", "red hen", "blue owl"))
	// N = 3: red is in two passages, fox in one, yak in none.
	want := math.Log(1+1.5/2.5) + 2*math.Log(1+2.5/1.5) + math.Log(1+3.5/.5)
	got, err := x.alone().UpperBound("Fox, red fox and the yak?")
	if err != nil || math.Abs(got-want) > 1e-6 {
		t.Errorf("upper bound %v, %v; by hand %v", got, err, want)
	}
	if got, err := x.alone().UpperBound("... the"); err != nil || got != 0 {
		t.Errorf("upper bound %v, %v of a question without terms", got, err)
	}
}

func TestUpperBoundOfScores(t *testing.T) {
	x := build(t, Params{K1: .9, B: .4}, texts("fox", "fox fox fox fox fox fox fox fox fox fox", "fox hen", "hen"))
	for _, question := range []string{"fox", "fox hen", "hen hen fox", "owl fox"} {
		bound, err := x.alone().UpperBound(question)
		if err != nil {
			t.Fatal(err)
		}
		hits, err := x.Search(context.Background(), question, 10)
		if err != nil || len(hits) == 0 {
			t.Fatalf("%q: %d hits, %v", question, len(hits), err)
		}
		if top := float64(hits[0].Score); top >= bound || top < bound/20 {
			t.Errorf("%q: the best passage has %v, the upper bound is %v", question, top, bound)
		}
	}
}

func texts(all ...string) []goldenPassage {
	out := make([]goldenPassage, len(all))
	for i, text := range all {
		out[i].Text = text
	}
	return out
}
