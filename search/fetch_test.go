package search

import (
	"context"
	"slices"
	"strings"
	"testing"
)

func TestFields(t *testing.T) {
	s := newStage("a", 20)
	s.library.shelf.passages[0].Metadata = map[string]any{"year": 1998.0}
	for _, c := range []struct {
		Fields []string
		want   string
	}{
		{nil, "title text contributions sources"}, {[]string{}, ""}, {[]string{"title"}, "title"},
		{[]string{"tags", "text"}, "text tags"}, {[]string{"metadata"}, "metadata"},
		{[]string{"sources"}, "sources"}, {[]string{"contributions", "text"}, "text contributions"},
	} {
		e := s.engine(t)
		r, err := e.Search(
			context.Background(), Caller{}, Request{Question: askedOften, Fields: c.Fields, K: 20, Candidates: 20},
		)
		if err != nil {
			t.Fatal(err)
		}
		_ = e.Close(context.Background())
		var got []string
		for _, result := range r.Results {
			if result.ID != "p000" {
				continue
			}
			for name, found := range map[string]bool{"title": result.Title != "", "text": result.Text != "", "tags": result.Tags != nil, "metadata": result.Metadata != nil, "contributions": result.Contributions != nil, "sources": r.Sources != nil} {
				if found {
					got = append(got, name)
				}
			}
		}
		slices.SortFunc(
			got, func(a, b string) int { return slices.Index(fieldNames(), a) - slices.Index(fieldNames(), b) },
		)
		if strings.Join(got, " ") != c.want {
			t.Errorf("fields %v: %v", c.Fields, got)
		}
	}
}

func TestExplain(t *testing.T) {
	s := newStage("a", 20)
	no := false
	r := s.ask(t, Request{Question: "red dog", Explain: true, Fusion: methodsOf("sum"), Normalisation: "raw"})
	for _, result := range r.Results {
		sum := 0.0
		for _, term := range result.Explanation {
			sum += term.Score
		}
		if c := result.Contributions[1]; *c.Score != sum {
			t.Errorf("%s: terms add up to %v, BM25's score is %v", result.ID, sum, *c.Score)
		}
	}
	if r := s.ask(t, Request{Question: "red dog", Explain: true, BM25: &no}); r.Results[0].Explanation != nil {
		t.Error("an explanation without BM25")
	}
	if r := s.ask(t, Request{Question: "red dog"}); r.Results[0].Explanation != nil {
		t.Error("an explanation that nobody asked for")
	}
	s.words.fail = context.Canceled
	s.ask(t, Request{Question: "red dog", Explain: true, Fusion: methodsOf("rrf")})
}
