package search

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"example.org/conclave/search/fault"
	"example.org/conclave/search/reply"
)

// comparison returns every method with several sets of sources and options.
func comparison() []Request {
	yes, no := true, false
	var all []Request
	for _, name := range MethodNames() {
		all = append(all,
			Request{Question: askedOften, Fusion: methodsOf(name)},
			Request{Question: askedOften, Fusion: methodsOf(name), Experts: &[]string{"C", "A"}, K: 3},
			Request{Question: askedOften, Fusion: methodsOf(name), Experts: &[]string{"B"}, BM25: &yes})
	}
	return append(
		all,
		Request{
			Question: askedOften,
			Fusion:   Methods{Names: []string{"sum", "rrf"}, Listed: true},
			Experts:  &[]string{"d", "A"},
		},
		Request{Question: askedOften, Fusion: methodsOf("sum"), Experts: &[]string{"d"}, BM25: &no, Normalisation: "raw"},
		Request{
			Question: askedOften,
			Fusion:   methodsOf("sum"),
			Experts:  &[]string{},
			Explain:  true,
			Fields:   []string{"tags", "contributions", "sources"},
		},
		Request{
			Question: askedOften,
			Fusion:   methodsOf("hybrid"),
			Experts:  &[]string{"A", "C"},
			Weights:  map[string]float64{"bm25": .5},
		},
	)
}

// withoutTimes takes out what differs between two answers to one request.
func withoutTimes(r reply.Response) reply.Response {
	r.TookMS = 0
	for i := range r.Sources {
		r.Sources[i].Took = reply.Took{}
		r.Sources[i].Confidence, r.Sources[i].Uncertainty = nil, nil // may be there without need
	}
	return r
}

// TestCompareIsSearch compares with one search for each request, and counts
// what the sources were asked.
func TestCompareIsSearch(t *testing.T) {
	s := newStage("ABCd", 60)
	requests := comparison()
	for i := range requests {
		if requests[i].Experts == nil { // the uncalibrated one would be refused
			requests[i].Experts = &[]string{"A", "B", "C"}
		}
	}
	engine := s.engine(t)
	for _, e := range s.encoders {
		e.calls.Store(0)
	}
	s.library.acquire.Store(0)
	got, err := engine.Compare(context.Background(), requests)
	if err != nil {
		t.Fatal(err)
	}
	if n := s.library.acquire.Load(); n != 1 {
		t.Errorf("%d generations were pinned, want one", n)
	}
	for name, e := range s.encoders {
		if n := e.calls.Load(); n != 1 {
			t.Errorf("expert %s encoded %d times, want once", name, n)
		}
	}
	for i, request := range requests {
		checkResponse(t, got[i])
		want := s.ask(t, request)
		if !reflect.DeepEqual(withoutTimes(got[i]), withoutTimes(want)) {
			t.Errorf("request %d (%+v):\n%+v\nalone it gets\n%+v", i+1, request, got[i], want)
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	s := newStage("A", 20)
	engine := s.engine(t)
	for name, c := range map[string]struct {
		requests []Request
		says     string
	}{
		"nothing":            {nil, "nothing to compare"},
		"another question":   {[]Request{{Question: "a"}, {Question: "b"}}, "request 2"},
		"another candidates": {[]Request{{Question: "a"}, {Question: "a"}, {Question: "a", Candidates: 3}}, "request 3"},
		"a wrong one":        {[]Request{{Question: "a"}, {Question: "a", Fusion: methodsOf("magic")}}, "request 2: there is no fusion method"},
	} {
		_, err := engine.Compare(context.Background(), c.requests)
		var known *fault.Error
		if !errors.As(err, &known) || known.Kind != fault.Invalid || !strings.Contains(known.Detail, c.says) {
			t.Errorf("%s: %v, want an invalid request with %q", name, err, c.says)
		}
	}
}

// TestCompareWithoutASource leaves it out of the answers that it would have
// been in, and of no other; an answer without any source is an error.
func TestCompareWithoutASource(t *testing.T) {
	s := newStage("AB", 20)
	s.vectors["B"].hook = func(context.Context) error { return errors.New("gone") }
	engine := s.engine(t)
	requests := []Request{
		{Question: askedOften, Fusion: methodsOf("rrf")},
		{Question: askedOften, Fusion: methodsOf("rrf"), Experts: &[]string{"A"}},
	}
	got, err := engine.Compare(context.Background(), requests)
	if err != nil {
		t.Fatal(err)
	}
	if len(got[0].Degraded) != 1 || got[0].Degraded[0].Source != "B" || len(got[1].Degraded) != 0 {
		t.Errorf("degraded are %v and %v, want B and none", got[0].Degraded, got[1].Degraded)
	}
	no := false
	_, err = engine.Compare(
		context.Background(), append(requests, Request{Question: askedOften, Experts: &[]string{"B"}, BM25: &no}),
	)
	var known *fault.Error
	if !errors.As(err, &known) || known.Kind != fault.Unavailable || !strings.Contains(known.Detail, "request 3") {
		t.Errorf("a request whose only source failed: %v", err)
	}
}
