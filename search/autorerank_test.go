package search

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/reply"
)

// withAutoJudge returns a stage whose default is to rerank where it pays, with a judge whose weight was fitted.
func withAutoJudge() (*stage, *judge) {
	s, j := withJudge()
	weight := 3. // so that the first ten are within reach of the first
	s.config.Rerankers[0].Weight = &weight
	s.config.Defaults.Rerank = ask.RerankAuto
	s.config.Defaults.Fusion = fusion.MethodGate
	return s, j
}

// inJSON returns a response as JSON without the times.
func inJSON(t *testing.T, r reply.Response) string {
	t.Helper()
	r.TookMS = 0
	for i := range r.Sources {
		r.Sources[i].Took = reply.Took{}
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestAutoRerank: what the server reranks if it decides, and how many passages.
func TestAutoRerank(t *testing.T) {
	s, j := withAutoJudge()
	readers, _ := withReader()
	s.config.Readers = readers.config.Readers
	s.config.Readers[0].Ranking = 20
	auto := ask.RerankOptions{Asked: true, Auto: true}
	for name, c := range map[string]struct {
		r      Request
		scored int
	}{
		"nothing said":             {Request{}, 10},
		"auto":                     {Request{Rerank: auto}, 10},
		"a page of three":          {Request{K: 3}, 10},
		"false":                    {Request{Rerank: ask.RerankOptions{Asked: true}}, 0},
		"true":                     {Request{Rerank: reranked(0)}, 20},
		"another method":           {Request{Fusion: methodsOf(fusion.MethodRRF), Rerank: auto}, 0},
		"a list of methods":        {Request{Fusion: listOf(fusion.MethodGate, fusion.MethodRRF), Rerank: auto}, 0},
		"an order by a field":      {Request{Sort: ask.Sort{Field: "date"}, Rerank: auto}, 0},
		"a reader that ranks":      {Request{Answer: wanted(ask.AnswerOptions{})}, 0},
		"a reader that only marks": {Request{Answer: wanted(ask.AnswerOptions{Reader: "other"})}, 10},
	} {
		j.scored = nil
		c.r.Question = askedOften
		got := s.ask(t, c.r)
		if len(j.scored) != c.scored || len(got.Degraded) > 0 {
			t.Errorf("%s: %d were scored, not %d; degraded: %v", name, len(j.scored), c.scored, got.Degraded)
		}
	}
	for weight, scored := range map[*float64]int{nil: 0, new(float64): 0} {
		j.scored = nil
		s.config.Rerankers[0].Weight = weight
		if s.ask(t, Request{Question: askedOften}); len(j.scored) != scored {
			t.Errorf("with the weight %v: %d were scored", weight, len(j.scored))
		}
	}
}

// TestAutoRerankWithinReach: only passages are scored whose scores lie within five times the weight of the first's, and
// none if the first is alone there.
func TestAutoRerankWithinReach(t *testing.T) {
	s, j := withAutoJudge()
	before := s.ask(t, Request{Question: askedOften, K: 30, Rerank: ask.RerankOptions{Asked: true}}).Results
	for _, weight := range []float64{.001, .02, .05, .1, .2, .3, .5, 1} {
		within := 0
		for _, r := range before[:10] {
			if r.Score >= before[0].Score-5*weight {
				within++
			}
		}
		if within == 1 {
			within = 0
		}
		j.scored = nil
		s.config.Rerankers[0].Weight = &weight
		s.ask(t, Request{Question: askedOften})
		if want := ids(before[:within]); !slices.Equal(j.scored, want) {
			t.Errorf("weight %v: %v were scored, not %v", weight, j.scored, want)
		}
	}
}

// TestAutoRerankRanksAsAsked: the order and the scores are those of a request that asks for the same passages.
func TestAutoRerankRanksAsAsked(t *testing.T) {
	s, _ := withAutoJudge()
	got := s.ask(t, Request{Question: askedOften, K: 30})
	want := s.ask(t, Request{Question: askedOften, K: 30, Rerank: reranked(10)})
	if a, b := inJSON(t, got), inJSON(t, want); a != b || !strings.Contains(a, `"origin":"rerank"`) {
		t.Errorf("by itself\n%s\nasked for\n%s", a, b)
	}
}

// TestRerankFalseIsWithoutAReranker: the answer is that of a server that has none.
func TestRerankFalseIsWithoutAReranker(t *testing.T) {
	s, _ := withAutoJudge()
	without := Request{Question: askedOften, K: 30, Explain: true, Rerank: ask.RerankOptions{Asked: true}}
	got := inJSON(t, s.ask(t, without))
	auto := inJSON(t, s.ask(t, Request{Question: askedOften, K: 30, Explain: true}))
	s.config.Rerankers = nil
	want := inJSON(t, s.ask(t, Request{Question: askedOften, K: 30, Explain: true}))
	if got != want || auto == want {
		t.Errorf("rerank false\n%s\nwithout a reranker\n%s\nauto\n%s", got, want, auto)
	}
}

// TestAutoRerankLeavesSymbolsAlone: source code is ranked without the reranker, unless the request asks for it.
func TestAutoRerankLeavesSymbolsAlone(t *testing.T) {
	s, j := withAutoJudge()
	s.library.shelf.near = true
	s.config.Defaults.Gate.Symbols = -1.4
	for i := range s.library.shelf.passages {
		s.library.shelf.passages[i].Text += " if (x != nil && y[i] <= z) { return *x + (y - z) / 2; } // {}[]();"
	}
	got := s.ask(t, Request{Question: askedOften})
	if len(j.scored) > 0 || len(got.Degraded) > 0 {
		t.Errorf("%d were scored, degraded %v", len(j.scored), got.Degraded)
	}
	if s.ask(t, Request{Question: askedOften, Rerank: reranked(4)}); len(j.scored) != 4 {
		t.Errorf("%d were scored where it is asked for", len(j.scored))
	}
}

// TestAutoRerankWithoutTime: a reranker that is expected to take more than an eighth of the time that is left is not
// asked, and the answer says so; one that turns out to be late is named, too.
func TestAutoRerankWithoutTime(t *testing.T) {
	for _, c := range []struct {
		expected time.Duration
		scored   int
		reason   string
	}{{49 * time.Millisecond, 10, ""}, {51 * time.Millisecond, 0, "scoring 10 passages would take about 51 ms now"}} {
		synctest.Test(t, func(t *testing.T) {
			s, j := withAutoJudge()
			s.config.Rerankers[0].Expect = func(passages int) time.Duration {
				return c.expected * time.Duration(passages) / 10
			}
			got := s.ask(t, Request{Question: askedOften, TimeoutMS: 400})
			if len(j.scored) != c.scored || len(got.Results) == 0 || c.reason == "" != (len(got.Degraded) == 0) {
				t.Fatalf("%v: %d were scored, degraded %+v", c.expected, len(j.scored), got.Degraded)
			}
			if c.reason != "" &&
				(got.Degraded[0].Source != "judge" || !strings.HasPrefix(got.Degraded[0].Reason, c.reason)) {
				t.Errorf("%+v", got.Degraded[0])
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s, j := withAutoJudge()
		j.hook = func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		got := s.ask(t, Request{Question: askedOften, TimeoutMS: 400})
		if len(got.Degraded) != 1 || got.Degraded[0].Source != "judge" || len(got.Results) == 0 {
			t.Errorf("%+v", got.Degraded)
		}
	})
}
