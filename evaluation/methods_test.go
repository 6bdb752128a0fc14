package evaluation

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// picky is an engine that refuses a fusion method.
type picky struct{ *script }

func (p picky) Compare(_ context.Context, requests []search.Request) ([]reply.Response, error) {
	if requests[0].Fusion.Names[0] == "muf" {
		return nil, &fault.Error{Kind: fault.Invalid, Detail: "request 1: nobody is calibrated"}
	}
	return []reply.Response{{}}, nil
}

func TestPossible(t *testing.T) {
	method := func(kind MethodKind, name string) Method {
		return Method{Name: name, Kind: kind, Request: search.Request{Fusion: search.Methods{Names: []string{name}}}}
	}
	kept, notes, err := keepPossible(
		t.Context(), picky{}, []Method{method(KindFusion, "muf"), method(KindFusion, "rrf")}, "who?", time.Second,
	)
	if err != nil || methodNames(kept) != "rrf" || !slices.Equal(
		notes, []string{"muf is left out: nobody is calibrated"},
	) {
		t.Errorf("kept %q, notes %q, %v", methodNames(kept), notes, err)
	}
	if _, _, err := keepPossible(t.Context(), picky{}, []Method{method(KindComparison, "muf")}, "who?",
		time.Second); err == nil ||
		!strings.Contains(err.Error(), `"muf"`) {
		t.Errorf("a method that was asked for and is refused: %v", err)
	}
}

func TestParseMethod(t *testing.T) {
	no := false
	for text, want := range map[string]Method{
		"a: rrf": {Name: "a", Request: search.Request{Fusion: search.Methods{Names: []string{"rrf"}}}},
		"base and BM25 : hybrid experts=base alpha=0.05": {Name: "base and BM25", Request: search.Request{
			Fusion: search.Methods{Names: []string{"hybrid"}}, Experts: &[]string{"base"},
			Weights: map[string]float64{"bm25": .05}}},
		"c: gate rerank=marco": {Name: "c", Kind: KindComparison, Request: search.Request{
			Fusion: search.Methods{Names: []string{"gate"}},
			Rerank: ask.RerankOptions{Asked: true, Wanted: true, Model: "marco"},
		}},
		"b: sum experts=x,y bm25=no weights=x:2,y:.5 missing=min normalisation=zscore sharpness=1.5": {Name: "b",
			Request: search.Request{
				Fusion: search.Methods{Names: []string{"sum"}}, Experts: &[]string{"x", "y"}, BM25: &no,
				Weights: map[string]float64{"x": 2, "y": .5}, Missing: "min", Normalisation: "zscore", Sharpness: 1.5}},
		"c: rrf experts=none": {Name: "c", Request: search.Request{Fusion: search.Methods{Names: []string{"rrf"}},
			Experts: &[]string{}}},
	} {
		want.Kind = KindComparison
		if got, err := ParseMethod(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, says := range map[string]string{
		"rrf": "NAME: FUSION", ": rrf": "NAME: FUSION", "a:": "NAME: FUSION", "a: magic": `"magic"`, "a: rrf experts": "key=value",
		"a: rrf experts=": "key=value", "a: rrf k=3": `no "k"`, "a: rrf bm25=maybe": "yes or no", "a: rrf alpha=x": "weight", "a: rrf weights=x:-1": "weight",
		"a: rrf weights=x": "weight", "a: rrf alpha=NaN": "weight", "a: muf sharpness=high": "invalid syntax",
	} {
		if _, err := ParseMethod(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want an error with %q", text, err, says)
		}
	}
}

// TestLineup: what is measured follows from what there is.
func TestLineup(t *testing.T) {
	calibration := &learned.CalibrationInfo{Temperature: 1, Depth: 10}
	a := learned.ExpertInfo{Name: "a", EnsembleMembers: 5, Calibration: calibration}
	b := learned.ExpertInfo{Name: "b", EnsembleMembers: 5, Calibration: calibration}
	plain := learned.ExpertInfo{Name: "plain"}
	for name, c := range map[string]struct {
		lineup    Lineup
		with      []string
		without   []string
		sources   int
		noFusions bool
	}{
		"words alone":        {Lineup(nil), nil, nil, 1, true},
		"one and words":      {Lineup([]learned.ExpertInfo{plain}), []string{"auto", "hybrid", "rrf", "sum, z-scores"}, []string{"muf", "cce", "sum of experts"}, 2, false},
		"with sentences":     {Lineup([]learned.ExpertInfo{plain, {Name: "plain@1", Parts: true}}), []string{"cce", "cce, sharpness 3"}, []string{"muf"}, 3, false},
		"calibrated":         {Lineup([]learned.ExpertInfo{a, b}), []string{"muf", "muf, the paper's", "muf-sparse", "hybrid", "sum of experts", "sum, min-max"}, nil, 3, false},
		"not all calibrated": {Lineup([]learned.ExpertInfo{a, plain}), []string{"rrf", "sum of experts", "hybrid"}, []string{"muf", "sum of calibrated experts"}, 3, false},
		"two of three":       {Lineup([]learned.ExpertInfo{plain, a, b}), []string{"muf", "muf, the paper's", "hybrid", "sum of calibrated experts"}, nil, 4, false},
	} {
		if n := len(c.lineup.Alone()); n != c.sources {
			t.Errorf("%s: %d sources, want %d", name, n, c.sources)
		}
		fusions := c.lineup.Fusions()
		if (len(fusions) == 0) != c.noFusions {
			t.Errorf("%s: fusions are %s", name, methodNames(fusions))
		}
		for _, want := range c.with {
			if methodNamed(fusions, want) < 0 {
				t.Errorf("%s: no %q among %s", name, want, methodNames(fusions))
			}
		}
		for _, unwanted := range c.without {
			if methodNamed(fusions, unwanted) >= 0 {
				t.Errorf("%s: %q among %s", name, unwanted, methodNames(fusions))
			}
		}
	}
	fusions := Lineup([]learned.ExpertInfo{plain, a, b}).Fusions()
	if r := fusions[methodNamed(fusions, "muf")].Request; r.Experts == nil ||
		!slices.Equal(*r.Experts, []string{"a", "b"}) {
		t.Errorf("MUF is over %v, want those that can say how sure they are", r.Experts)
	}
	if r := fusions[methodNamed(fusions, "rrf")].Request; r.Experts != nil {
		t.Errorf("RRF is over %v, want all", *r.Experts)
	}
	if CheckFusions("rrf,magic") == nil || CheckFusions("rrf,sum") != nil || CheckFusions("all") != nil {
		t.Error("an unknown fusion method was taken, or a known one was not")
	}
	if slices.Contains(strings.Split(methodNames(scriptedMethods()), ", "), "auto") {
		t.Error("only the methods that were named are meant")
	}
}
