package search

import (
	"context"
	"errors"
	"math"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/search/internal/run"
)

// TestGatherIsWhatSearchFuses fuses the evidence by hand and compares with
// what Search answers, and the members' scores with the confidence that MUF
// shows.
func TestGatherIsWhatSearchFuses(t *testing.T) {
	s := newStage("ABCd", 60)
	engine := s.engine(t)
	found, err := engine.Gather(context.Background(), Request{Question: askedOften}, 20)
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := s.library.pinned.Load(); n != 0 {
		t.Errorf("%d generations are still pinned", n)
	}

	var sources []fusion.Source
	for i := range found.Sources {
		sources = append(sources, fusion.Source{Column: i, Weight: 1})
	}
	ranking, err := fusion.Sum(found.Table, sources, fusion.LinearOptions{Normalisation: fusion.ZScore}, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodSum)})
	for i, r := range want.Results {
		passage := s.library.shelf.passages[ranking.Items[i].Ordinal]
		if passage.ID != r.ID || math.Abs(ranking.Items[i].Score-r.Score) > 1e-8 {
			t.Errorf("rank %d: %s with %v, Search has %s with %v", i+1, passage.ID, ranking.Items[i].Score, r.ID, r.Score)
		}
	}

	muf := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodMUF), Experts: &[]string{"A", "B", "C"}})
	for i, source := range found.Sources[:3] {
		information, err := fusion.MutualInformation(source.MemberScores, source.Members, .5)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := run.Printed(fusion.Confidence(information, source.Members)), *muf.Sources[i].Confidence; got != want {
			t.Errorf("%s: the members' scores say %v, MUF says %v", source.Name, got, want)
		}
		if len(source.Hits) != 15 || len(source.MemberScores) != 5*20 {
			t.Errorf(
				"%s: %d hits and %d scores of members, want 15 and 100",
				source.Name,
				len(source.Hits),
				len(source.MemberScores),
			)
		}
	}
	if d, words := found.Sources[3], found.Sources[4]; len(d.MemberScores) != 0 || words.Kind != fusion.Lexical {
		t.Errorf(
			"d has %d scores of members it does not have, or BM25 is no lexical source: %+v",
			len(d.MemberScores),
			words.Kind,
		)
	}
}

// TestGatherFailsWithItsSources: a fit on what is left would be of something
// else than what is served.
func TestGatherFailsWithItsSources(t *testing.T) {
	broken := errors.New("disk on fire")
	s := newStage("AB", 30)
	s.vectors["B"].hook = func(context.Context) error { return broken }
	engine := s.engine(t)
	if _, err := engine.Gather(context.Background(), Request{Question: askedOften}, 20); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	s.vectors["B"].hook = nil
	s.ensembles["A"].hook = func(context.Context) error { return broken }
	if _, err := engine.Gather(context.Background(), Request{Question: askedOften}, 20); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if _, err := engine.Gather(context.Background(), Request{}, 20); err == nil {
		t.Error("a request without a question was accepted")
	}
	_ = engine.Close(context.Background())
}
