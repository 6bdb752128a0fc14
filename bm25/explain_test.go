package bm25

import (
	"errors"
	"testing"
)

// TestExplain: the terms' scores add up to the score of the hit, and the
// factors of each term are those of the formula.
func TestExplain(t *testing.T) {
	passages := []goldenPassage{
		{Title: "Dogs", Text: "The dog's owner walks two dogs and a cat."},
		{Title: "Cats", Text: "A cat sleeps."},
		{Title: "", Text: "and the of"},
		{Title: "Weather", Text: "It rains cats and dogs, and rains."},
	}
	x := build(t, DefaultParams(), passages)
	e, err := x.Explain("Cats and dogs, dogs!", 0)
	if err != nil {
		t.Fatal(err)
	}
	// Terms of the passages: dog dog owner walk two dog cat (7); cat cat sleep
	// (3); none; weather rain cat dog rain (5). By hand: N = 3, average = 5.
	if s := x.alone().statistics; s != (statistics{passages: 4, withTerms: 3, terms: 15, average: 5}) {
		t.Fatalf("statistics %+v", s)
	}
	if len(e) != 2 {
		t.Fatalf("explanation %+v", e)
	}
	dog, cat := e[0], e[1]
	if dog.Term != "dog" || dog.Count != 2 || dog.TF != 3 || dog.DF != 2 || cat.Term != "cat" || cat.Count != 1 ||
		cat.TF != 1 ||
		cat.DF != 3 {
		t.Fatalf("terms %+v", e)
	}
	near := func(what string, got float32, want float64) {
		t.Helper()
		if d := float64(got) - want; d > 1e-6 || d < -1e-6 {
			t.Errorf("%s is %v, by hand %v", what, got, want)
		}
	}
	near("idf of dog", dog.IDF, 0.4700036) // ln(1 + 1.5/2.5)
	near("idf of cat", cat.IDF, 0.1335314) // ln(1 + 0.5/3.5)
	// 0.6 + 0.4·7/5 = 1.16
	near("score of dog", dog.Score, 2*0.4700036*3/(3+0.9*1.16))
	near("score of cat", cat.Score, 0.1335314*1/(1+0.9*1.16))
	hits, err := x.Search(t.Context(), "Cats and dogs, dogs!", 10)
	if err != nil || len(hits) != 3 || hits[0].Ordinal != 0 {
		t.Fatalf("hits %v (%v)", hits, err)
	}
	near("score", hits[0].Score, float64(dog.Score)+float64(cat.Score))
	if e, err := x.Explain("cats", 2); err != nil || len(e) != 0 {
		t.Errorf("a passage without the term: %+v, %v", e, err)
	}
	if _, err := x.Explain("cats", 4); !errors.Is(err, errNoPassage) {
		t.Errorf("a passage beyond the end: %v", err)
	}
}
