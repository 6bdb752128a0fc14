package search

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"example.org/conclave/search/fault"
	"example.org/conclave/search/reply"
)

// TestOffset: pages of a ranking, one after the other, are the ranking.
func TestOffset(t *testing.T) {
	s := newStage("AB", 60)
	e := s.engine(t)
	ask := func(offset, k int) reply.Response {
		r, err := e.Search(
			context.Background(), Caller{},
			Request{Question: askedOften, Fusion: listOf("rrf", "sum", "hybrid"), Offset: offset, K: k, Candidates: 30},
		)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	whole := ask(0, 100)
	for i, ranking := range whole.Rankings {
		var paged []reply.Result
		for offset := 0; ; offset += 7 {
			page := ask(offset, 7).Rankings[i].Results
			paged = append(paged, page...)
			if len(page) < 7 {
				break
			}
		}
		if !reflect.DeepEqual(paged, ranking.Results) || len(paged) < 30 {
			t.Errorf("%s: %d results in pages, %d at once", ranking.Fusion, len(paged), len(ranking.Results))
		}
	}
	if far := ask(500, 7).Rankings[0].Results; far == nil || len(far) != 0 {
		t.Errorf("behind the end: %v", far)
	}
	for _, r := range []Request{{Question: askedOften, Offset: -1}, {Question: askedOften, Offset: 1000},
		{Question: askedOften, Offset: 500, K: 501}} {
		var refused *fault.Error
		if _, err := e.Search(context.Background(), Caller{}, r); !errors.As(err, &refused) ||
			refused.Code != "out_of_range" ||
			refused.Fields[0].Pointer != "/offset" {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestList: every passage once, in the order of ids, in pages that end at their
// limit or where they would be too large.
func TestList(t *testing.T) {
	s := newStage("A", 60)
	s.config.Limits.AnswerBytes = 400
	e := s.engine(t)
	next, n, pages := "", 0, 0
	for pages == 0 || next != "" {
		passages, after, err := e.List(context.Background(), Caller{}, next, 50)
		if err != nil || len(passages) == 0 {
			t.Fatal(err, len(passages))
		}
		pages++
		for _, p := range passages {
			if p.ID != s.library.shelf.passages[n].ID {
				t.Fatalf("%s, want %s", p.ID, s.library.shelf.passages[n].ID)
			}
			n++
		}
		next = after
	}
	if n != 60 || pages < 3 {
		t.Errorf("%d passages in %d pages", n, pages)
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}
