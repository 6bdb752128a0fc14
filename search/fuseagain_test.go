package search

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.org/conclave/fusion"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/reply"
)

// candidatesOf returns the results of a search as somebody has them who kept the answer.
func candidatesOf(t rapid.TB, results []reply.Result) (out []Candidate) {
	t.Helper()
	text, err := json.Marshal(results)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestFuseIsTheSearchAgain: what a search returned is fused to that search's ranking,
// whatever the method, the options and what the sources said.
func TestFuseIsTheSearchAgain(t *testing.T) {
	s, _, _ := lateStage()
	s.library.shelf.phrases = &words{texts: s.words.texts, pairs: true}
	gate := *s.config.Defaults.Gate
	gate.Phrases = .5
	s.config.Defaults.Gate = &gate
	s.config.Limits.K = 1000
	engine := s.engine(t)
	defer func() {
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(fusion.Methods()).Draw(t, "method")
		r := Request{
			Question: strings.Join(
				rapid.SliceOfN(rapid.SampledFrom(strings.Fields("red green blue cat dog bird runs sleeps yes no")), 1, 6).
					Draw(t, "words"),
				" ",
			),
			Fusion:     methodsOf(m.Name),
			Candidates: rapid.IntRange(1, 70).Draw(t, "candidates"), K: 1000,
		}
		if m.Takes(fusion.OptionMissing) {
			r.Missing = rapid.SampledFrom([]string{"", "exact", "min"}).Draw(t, "missing")
		}
		if m.Takes(fusion.OptionNormalisation) {
			r.Normalisation = string(rapid.SampledFrom(append(fusion.Normalisations(), "")).Draw(t, "normalisation"))
		}
		if m.Takes(fusion.OptionSharpness) {
			r.Sharpness = rapid.SampledFrom([]float64{0, 1, 2.5}).Draw(t, "sharpness")
		}
		experts := []string{"A", "B", "C"}
		if rapid.Bool().Draw(t, "one expert") {
			experts = experts[1:2]
			r.Experts = &experts
		}
		named := []string{}
		switch {
		case m.Takes(fusion.OptionExpertWeights):
			named = append(experts[:len(experts):len(experts)], reply.WordSource)
		case m.Takes(fusion.OptionWeights):
			named = []string{reply.WordSource}
		}
		for _, name := range named {
			if rapid.Bool().Draw(t, "weighted") {
				if r.Weights == nil {
					r.Weights = map[string]float64{}
				}
				r.Weights[name] = float64(rapid.IntRange(0, 8).Draw(t, "weight")) / 4
			}
		}
		want, err := engine.Search(context.Background(), Caller{}, r)
		if err != nil {
			t.Fatal(err)
		}
		again := FuseRequest{
			Fusion:        want.Fusion,
			Candidates:    candidatesOf(t, want.Results),
			Weights:       r.Weights,
			Missing:       r.Missing,
			Normalisation: r.Normalisation,
			Sharpness:     r.Sharpness,
			Confidences:   map[string]float64{},
		}
		if m.RanksGranularities() { // whose results may be the surest's alone
			again.Granularities = slices.DeleteFunc(slices.Clone(experts), func(name string) bool { return name == "C" })
			r.Fusion = methodsOf(fusion.MethodSum)
			r.Sharpness = 0
			all, err := engine.Search(context.Background(), Caller{}, r)
			if err != nil {
				t.Fatal(err)
			}
			again.Candidates = candidatesOf(t, all.Results)
		}
		for _, source := range want.Sources {
			if source.Confidence != nil {
				again.Confidences[source.Name] = *source.Confidence
			}
		}
		perm := rapid.Permutation(again.Candidates).Draw(t, "order")
		again.Candidates = perm
		got, err := Fuse(again)
		if err != nil {
			t.Fatal(err)
		}
		sameRanking(t, got.Results, want.Results)
		if want.Confidence != nil && !m.WeighsByQuestion() && math.Abs(*got.Confidence-*want.Confidence) > 1e-8 {
			t.Errorf("confidence %v, want %v", *got.Confidence, *want.Confidence)
		}
		k := rapid.IntRange(1, 5).Draw(t, "k")
		again.K = k
		if first, err := Fuse(again); err != nil ||
			!slices.Equal(ids(first.Results), ids(got.Results)[:min(k, len(got.Results))]) {
			t.Errorf("the first %d of %v are %v, %v", k, ids(got.Results), ids(first.Results), err)
		}
	})
}

// sameRanking wants the same passages with the same scores and contributions, to what
// answers print. Those whose scores differ by less may change places.
func sameRanking(t rapid.TB, got, want []reply.Result) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d results, want %d", len(got), len(want))
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-8*max(1, math.Abs(b)) }
	for i := range want {
		g, w := got[i], want[i]
		if !near(g.Score, w.Score) || g.Rank != i+1 {
			t.Fatalf("rank %d: %s with %v, want %s with %v", i+1, g.ID, g.Score, w.ID, w.Score)
		}
		at := slices.IndexFunc(want, func(r reply.Result) bool { return r.ID == g.ID })
		if at < 0 || !near(want[at].Score, g.Score) {
			t.Fatalf("%s has %v, want %+v", g.ID, g.Score, want)
		}
		for _, c := range g.Contributions {
			n := slices.IndexFunc(want[at].Contributions, func(o reply.Contribution) bool { return o.Source == c.Source })
			if n < 0 {
				t.Fatalf("%s: a contribution of %s", g.ID, c.Source)
			}
			o := want[at].Contributions[n]
			if !near(c.Contribution, o.Contribution) || !near(c.Weight, o.Weight) || c.Origin != o.Origin ||
				(c.Rank == nil) != (o.Rank == nil) ||
				c.Rank != nil && *c.Rank != *o.Rank {
				t.Fatalf("%s: %+v, want %+v", g.ID, c, o)
			}
		}
	}
}

// TestFuseByHand: another method, and other weights, than the search's.
func TestFuseByHand(t *testing.T) {
	one, two, three := 1, 2, 3
	score := func(x float64) *float64 { return &x }
	candidates := []Candidate{
		{
			ID:    "b",
			Title: "B",
			Contributions: []SourceScore{
				{Source: "wiki", Score: score(.75), Rank: &one},
				{Source: "bm25", Score: score(2), Rank: &three},
				{Source: "late", Score: score(.5), Origin: "scored"},
			},
		},
		{
			ID: "a",
			Contributions: []SourceScore{
				{Source: "wiki", Score: score(.5), Rank: &two},
				{Source: "bm25", Score: score(4), Rank: &one},
				{Source: "late", Score: score(.25), Origin: "scored"},
			},
		},
		{ID: "c", Contributions: []SourceScore{
			{Source: "wiki", Score: score(.25)}, {Source: "bm25", Score: score(3), Rank: &two},
		}},
	}
	for _, c := range []struct {
		request FuseRequest
		want    map[string]float64
	}{
		{FuseRequest{Fusion: "rrf"}, map[string]float64{"a": 1./62 + 1./61, "b": 1./61 + 1./63, "c": 1. / 62}},
		{FuseRequest{Fusion: "sum", Normalisation: "raw", Weights: map[string]float64{"wiki": 8}}, map[string]float64{"a": 8, "b": 8, "c": 5}},
		{FuseRequest{Fusion: "hybrid", Weights: map[string]float64{"bm25": .5}},
			map[string]float64{"a": 2.5, "b": 1.75, "c": 1.75}},
		{FuseRequest{Fusion: "muf", Confidences: map[string]float64{"wiki": .5}}, map[string]float64{"b": .75, "a": .5}},
		{FuseRequest{Fusion: "gate", Weights: map[string]float64{"wiki": 1, "bm25": .25, "late": 4}}, map[string]float64{"b": 3.25, "a": 2.5, "c": 1}},
	} {
		c.request.Candidates = candidates
		got, err := Fuse(c.request)
		if err != nil {
			t.Fatal(c.request.Fusion, err)
		}
		for id, want := range c.want {
			if at := slices.IndexFunc(got.Results, func(r reply.Result) bool { return r.ID == id }); at < 0 ||
				math.Abs(got.Results[at].Score-want) > 1e-9 {
				t.Errorf("%s: %s has no score of %v: %+v", c.request.Fusion, id, want, got.Results)
			}
		}
		if !slices.IsSortedFunc(got.Results, func(a, b reply.Result) int {
			if a.Score != b.Score {
				return int(math.Copysign(1, b.Score-a.Score))
			}
			return strings.Compare(a.ID, b.ID)
		}) {
			t.Errorf("%s: %+v", c.request.Fusion, got.Results)
		}
	}
}

// TestFuseRefuses: what cannot be fused is said with the place where it stands.
func TestFuseRefuses(t *testing.T) {
	good := `[{"id":"a","contributions":[{"source":"wiki","score":0.5,"rank":1},{"source":"x","score":0.5,"rank":1},{"source":"bm25","score":1,"rank":1}]},
		{"id":"b","contributions":[{"source":"wiki","score":0.4,"rank":2}]}]`
	for _, c := range []struct{ request, code, pointer string }{
		{`{"fusion":"auto"}`, "unknown_method", "/fusion"},
		{`{"fusion":"gate"}`, "missing_field", "/weights/wiki"},
		{`{"fusion":"cce"}`, "missing_field", "/granularities"},
		{`{"fusion":"cce","granularities":["wiki","bm25"]}`, "unknown_source", "/granularities/1"},
		{`{"fusion":"cce","granularities":["wiki"],"temperature":-1}`, "out_of_range", "/temperature"},
		{`{"fusion":"rrf","temperature":1}`, "unused_option", "/fusion"},
		{`{"fusion":"hybrid","confidences":{"wiki":1}}`, "missing_field", "/weights/bm25"},
		{`{"fusion":"muf"}`, "missing_field", "/confidences"},
		{`{"fusion":"muf","confidences":{"wiki":1},"weights":{"wiki":1}}`, "unused_option", "/weights"},
		{`{"fusion":"rrf","weights":{"nobody":1}}`, "unknown_source", "/weights/nobody"},
		{`{"fusion":"rrf","weights":{"wiki":-1}}`, "out_of_range", "/weights/wiki"},
		{`{"fusion":"muf","confidences":{"wiki":2}}`, "out_of_range", "/confidences/wiki"},
		{`{"fusion":"sum","missing":"none"}`, "unknown_value", "/missing"},
		{`{"fusion":"sum","normalisation":"none"}`, "unknown_value", "/normalisation"},
		{`{"fusion":"hybrid","candidates":[{"id":"a","contributions":[{"source":"wiki","score":1,"rank":1}]}]}`, "needs_bm25", "/candidates"},
		{`{"fusion":"muf","candidates":[{"id":"a","contributions":[{"source":"bm25","score":1,"rank":1}]}]}`, "needs_experts", "/candidates"},
		{`{"fusion":"rrf","candidates":[{"id":"a","contributions":[]},{"id":"a","contributions":[]}]}`, "duplicate_id", "/candidates/1/id"},
		{`{"fusion":"rrf","candidates":[{"id":"a","contributions":[{"source":"x","score":1,"rank":0}]}]}`, "out_of_range", "/candidates/0/contributions/0"},
		{`{"fusion":"rrf","candidates":[{"id":"a","contributions":[{"source":"x","rank":1}]}]}`, "out_of_range", "/candidates/0/contributions/0"},
		{`{"fusion":"rrf","candidates":[{"id":"a","contributions":[{"source":"x","score":1,"origin":"hit"}]}]}`, "out_of_range", "/candidates/0/contributions/0"},
		{`{"fusion":"rrf","candidates":[{"id":"a","contributions":[{"source":"x","score":1,"origin":"what"}]}]}`, "out_of_range", "/candidates/0/contributions/0"},
		{`{"fusion":"rrf","candidates":[{"id":"a","contributions":[{"source":"x","score":1e300,"rank":1}]}]}`, "out_of_range", "/candidates/0/contributions/0"},
		{`{"fusion":"rrf","candidates":[{"id":"a","contributions":[{"source":"x","score":1,"rank":1},{"source":"x","score":1,"rank":1}]}]}`, "out_of_range", "/candidates/0/contributions/1"},
		{`{"fusion":"rrf","candidates":[{"id":"a","contributions":[{"source":"x","score":1,"rank":1}]},{"id":"b","contributions":[{"source":"x","score":1,"rank":1}]}]}`, "out_of_range", "/candidates/1/contributions/0"},
		{`{"fusion":"rrf","candidates":[{"id":"a","contributions":[{"source":"x","score":1,"rank":1}]},{"id":"b","contributions":[{"source":"x","score":2,"rank":2}]}]}`, "out_of_range", "/candidates"},
	} {
		var r FuseRequest
		if err := json.Unmarshal([]byte(c.request), &r); err != nil {
			t.Fatal(err)
		}
		if r.Candidates == nil {
			if err := json.Unmarshal([]byte(good), &r.Candidates); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Fuse(r)
		e, ok := err.(*fault.Error)
		if !ok || e.Kind != fault.Invalid || e.Code != c.code || len(e.Fields) == 0 || e.Fields[0].Pointer != c.pointer {
			t.Errorf("%s: %+v, want %s at %s", c.request, err, c.code, c.pointer)
		}
	}
	if r, err := Fuse(FuseRequest{Fusion: "rrf"}); err != nil || r.Results == nil || len(r.Results) != 0 {
		t.Errorf("nothing: %+v, %v", r, err)
	}
}
