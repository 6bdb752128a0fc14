package search

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"example.org/conclave/search/fault"
)

// TestAnswerBytes: an answer beyond its limit is refused before a text is read,
// whatever makes it large: passages, contributions, rankings or explanations.
func TestAnswerBytes(t *testing.T) {
	s := newStage("AB", 60)
	for i := range s.library.shelf.passages {
		s.library.shelf.passages[i].Text = strings.Repeat("red dog ", 1000)
	}
	s.config.Limits.AnswerBytes = 64 << 10
	s.config.Limits.Timeout = 5 * time.Minute // the explanations take long under the race detector
	s.config.Defaults.Timeout = s.config.Limits.Timeout
	e := s.engine(t)
	many := strings.Repeat("red dog cat bird blue ", 200)
	for _, c := range []struct {
		what   string
		r      Request
		within bool
	}{
		{"three texts of 8 kB", Request{Question: "red dog", K: 3}, true},
		{"ten", Request{Question: "red dog", K: 10}, false},
		{"three in three rankings", Request{Question: "red dog", K: 3, Fusion: listOf("rrf", "sum", "auto")}, false},
		{"sixty without their texts", Request{Question: "red dog", K: 60, Fields: []string{"contributions", "sources"}},
			true},
		{"sixty ids", Request{Question: "red dog", K: 60, Fields: []string{}}, true},
		{"explanations of many words", Request{Question: many, K: 60, Fields: []string{}, Explain: true}, false},
		{"of few", Request{Question: "red", K: 60, Fields: []string{}, Explain: true}, true},
	} {
		s.library.shelf.reads.Store(0)
		_, err := e.Search(context.Background(), Caller{}, c.r)
		var refused *fault.Error
		switch {
		case c.within && err != nil:
			t.Errorf("%s: %v", c.what, err)
		case c.within:
		case !errors.As(err, &refused) || refused.Kind != fault.Invalid || refused.Code != "answer_too_large":
			t.Errorf("%s: %v", c.what, err)
		case s.library.shelf.reads.Load() > 0 && !c.r.Explain:
			t.Errorf("%s: %d texts were read", c.what, s.library.shelf.reads.Load())
		}
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestBatchWaitsForItsReader: no more searches are begun than run at once
// beyond the one that is being delivered, and answers come in order.
func TestBatchWaitsForItsReader(t *testing.T) {
	s := newStage("A", 60)
	s.config.Limits.BatchParallel = 3
	e := s.engine(t)
	words := []string{"red", "dog", "cat", "bird", "blue"}
	requests := []Request(nil)
	for i := range 40 {
		requests = append(requests, Request{Question: strings.Repeat(words[i%5]+" ", i+1)})
	}
	i := 0
	err := e.Batch(context.Background(), Caller{}, requests, func(a Answer) error {
		if a.Err != nil || a.Response.Question != requests[i].Question {
			t.Errorf("%d: %v %q", i, a.Err, a.Response.Question)
		}
		if n := s.encoders["A"].calls.Load(); n > int64(i+1+3) {
			t.Errorf("%d searches were begun when answer %d was delivered", n, i)
		}
		i++
		return nil
	})
	if err != nil || i != 40 {
		t.Fatal(i, err)
	}
	stop := errors.New("enough")
	if err := e.Batch(context.Background(), Caller{}, requests, func(Answer) error { return stop }); !errors.Is(
		err, stop,
	) {
		t.Error(err)
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}
