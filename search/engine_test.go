package search

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"example.org/conclave/internal/rank"
	"example.org/conclave/search/reply"
)

// checkResponse checks what must hold of every answer, as printed.
func checkResponse(t testing.TB, r reply.Response) {
	t.Helper()
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var printed reply.Response
	if err := json.Unmarshal(encoded, &printed); err != nil {
		t.Fatal(err)
	}
	rankings := append(
		[]reply.Ranking{{Fusion: r.Fusion, Confidence: r.Confidence, Results: printed.Results}},
		printed.Rankings...)
	for _, ranking := range rankings {
		for i, result := range ranking.Results {
			sum := 0.0
			for _, c := range result.Contributions {
				sum += c.Contribution
				if (c.Rank == nil) == (c.Origin == "hit") || (c.Score == nil) != (c.Origin == "none") {
					t.Errorf(
						"%s: %s by %s: origin %q, rank %v, score %v",
						ranking.Fusion,
						result.ID,
						c.Source,
						c.Origin,
						c.Rank,
						c.Score,
					)
				}
			}
			if math.Abs(sum-result.Score) > 1e-6*math.Max(1, ranking.Results[0].Score*1e-3) {
				t.Errorf(
					"%s: contributions of %s add up to %v, its score is %v",
					ranking.Fusion,
					result.ID,
					sum,
					result.Score,
				)
			}
			if result.Rank != i+1 || i > 0 && ranking.Results[i-1].Score < result.Score {
				t.Errorf("%s: result %d has rank %d, score %v", ranking.Fusion, i, result.Rank, result.Score)
			}
		}
		if c := ranking.Confidence; c != nil && !(*c >= 0 && *c <= 1) {
			t.Errorf("%s: confidence %v", ranking.Fusion, *c)
		}
	}
	if printed.Degraded == nil || printed.Sources == nil {
		t.Error("degraded and sources must be arrays, also when they are empty")
	}
}

// TestHybrid checks the sum, with the weight from the configuration and from
// the request, with one expert that nobody calibrated.
func TestHybrid(t *testing.T) {
	s := newStage("a", 60)
	for _, alpha := range []float64{.03, .5} {
		request := Request{Question: askedOften, Fusion: methodsOf("hybrid"), K: 40}
		if alpha != .03 {
			request.Weights = map[string]float64{"bm25": alpha}
		}
		r := s.ask(t, request)
		q, _ := s.encoders["a"].EncodeQuestion(context.Background(), askedOften)
		for _, result := range r.Results {
			o, _, _ := s.library.shelf.Ordinal(t.Context(), result.ID)
			want := float64(product(q, s.vectors["a"].rows[o])) + alpha*float64(s.words.score(askedOften, o))
			if math.Abs(result.Score-want) > 1e-5 {
				t.Errorf("alpha %v: %s has %v, want %v", alpha, result.ID, result.Score, want)
			}
		}
		if *r.Sources[0].Weight != 1 || *r.Sources[1].Weight != alpha || r.Confidence != nil ||
			r.Sources[0].Confidence != nil {
			t.Errorf("alpha %v: sources %+v, confidence %v", alpha, r.Sources, r.Confidence)
		}
	}
}

// TestHybridMissing: the request's way to complete is the hybrid's too.
func TestHybridMissing(t *testing.T) {
	s := newStage("a", 60)
	for _, missing := range []string{"", "exact", "min"} {
		origins := map[string]bool{}
		for _, result := range s.ask(t, Request{Question: askedOften, Fusion: methodsOf("hybrid"), Missing: missing,
			K: 100}).Results {
			for _, c := range result.Contributions {
				origins[c.Origin] = true
			}
		}
		if want := map[string]bool{"hit": true, cmp.Or(missing, "exact"): true}; !reflect.DeepEqual(origins, want) {
			t.Errorf("missing %q: origins %v", missing, origins)
		}
	}
	// Of several experts it is the lowest of their fused list that a passage of
	// BM25's gets: of 7 and 6 here, not the 1 that is the lowest of either.
	s = newStage("AB", 60)
	s.library.shelf.vectors["A"] = wrong{hits: []rank.Hit{{Ordinal: 0, Score: 13}, {Ordinal: 1, Score: 1}}}
	s.library.shelf.vectors["B"] = wrong{hits: []rank.Hit{{Ordinal: 1, Score: 11}, {Ordinal: 0, Score: 1}}}
	r := s.ask(
		t,
		Request{
			Question: askedOften,
			Fusion:   methodsOf("hybrid"),
			Missing:  "min",
			Weights:  map[string]float64{"bm25": 0},
		},
	)
	for i, want := range []float64{7, 6, 6} {
		if got := r.Results[i].Score; math.Abs(got-want) > 1e-8 {
			t.Errorf("result %d: %v, want %v", i+1, got, want)
		}
	}
}

// TestNothingFetchedInVain: true scores are read for methods that use them.
func TestNothingFetchedInVain(t *testing.T) {
	s := newStage("AB", 60)
	no := false
	s.vectors["A"].scores = func() { t.Error("a score was read that nobody needs") }
	s.ask(t, Request{Question: askedOften, Fusion: methodsOf("rrf")})
	s.ask(t, Request{Question: askedOften, Fusion: methodsOf("sum"), Missing: "min"})
	s.ask(t, Request{Question: askedOften, Fusion: methodsOf("sum"), Experts: &[]string{"A"}, BM25: &no})
}

// TestSum: raw among experts, z-scores as soon as BM25 takes part, and what
// the request says instead.
func TestSum(t *testing.T) {
	s := newStage("ab", 60)
	no := false
	part := func(r reply.Response, source int) reply.Contribution {
		return r.Results[0].Contributions[source]
	}
	r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf("sum"), BM25: &no})
	if c := part(r, 0); c.Contribution != *c.Score || c.Weight != 1 {
		t.Errorf("experts alone: %+v, want the raw score", c)
	}
	r = s.ask(t, Request{Question: askedOften, Fusion: methodsOf("sum"), K: 1000})
	for source := range r.Sources {
		mean, squares := 0.0, 0.0
		for _, result := range r.Results {
			mean += result.Contributions[source].Contribution
			squares += result.Contributions[source].Contribution * result.Contributions[source].Contribution
		}
		if n := float64(len(r.Results)); math.Abs(mean/n) > 1e-6 || math.Abs(squares/n-1) > 1e-6 {
			t.Errorf("%s: mean %v, variance %v, want z-scores", r.Sources[source].Name, mean/n, squares/n)
		}
	}
	r = s.ask(
		t,
		Request{
			Question:      askedOften,
			Fusion:        methodsOf("sum"),
			Normalisation: "raw",
			Weights:       map[string]float64{"bm25": .25},
		},
	)
	if c := part(r, 2); c.Weight != .25 || math.Abs(c.Contribution-.25**c.Score) > 1e-9 {
		t.Errorf("weighted raw: %+v", c)
	}
	r = s.ask(
		t,
		Request{Question: askedOften, Fusion: methodsOf("sum"), Weights: map[string]float64{"bm25": 0, "a": 0, "b": 0}},
	)
	if c := part(r, 2); c.Weight != 1 {
		t.Errorf("all weights zero: %+v, want equal ones", c)
	}
}

func TestRRF(t *testing.T) {
	r := newStage(
		"ab", 60,
	).ask(t, Request{Question: askedOften, Fusion: methodsOf("rrf"), K: 100, Weights: map[string]float64{"a": 2}})
	for _, result := range r.Results {
		for _, c := range result.Contributions {
			want := 0.0
			if c.Rank != nil {
				want = 1 / float64(60+*c.Rank)
			}
			if c.Source == "a" {
				want *= 2
			}
			if math.Abs(c.Contribution-want) > 1e-9 {
				t.Errorf("%s by %s: %v, want %v", result.ID, c.Source, c.Contribution, want)
			}
		}
	}
}

// TestSameAgain: the same request has the same answer, and the order in which
// experts are named does not show.
func TestSameAgain(t *testing.T) {
	s := newStage("ABC", 60)
	engine := s.engine(t)
	var first reply.Response
	for _, experts := range [][]string{{"A", "B", "C"}, {"C", "A", "B"}, {"B", "C", "A"}} {
		for range 5 {
			r, err := engine.Search(
				context.Background(), Caller{},
				Request{Question: askedOften, Fusion: listOf(MethodNames()...), Experts: &experts, Explain: true},
			)
			if err != nil {
				t.Fatal(err)
			}
			r.TookMS = 0
			for i := range r.Sources {
				r.Sources[i].Took = reply.Took{}
			}
			if first.Question == "" {
				first = r
			}
			if !reflect.DeepEqual(first, r) {
				t.Fatalf("first %+v\nthen %+v", first, r)
			}
		}
	}
}

// TestSharedEncoder: experts with the same encoder, or the same fingerprint of
// one, encode once and answer as if they had not.
func TestSharedEncoder(t *testing.T) {
	apart := newStage("ABC", 60)
	apart.encoders["B"].seed, apart.encoders["C"].seed = 1, 1
	want := apart.ask(t, Request{Question: askedOften, Fusion: methodsOf("muf")})
	for _, how := range []string{"fingerprint", "identity"} {
		s := newStage("ABC", 60)
		for i := range s.config.Experts {
			if how == "fingerprint" {
				s.config.Experts[i].Info.Fingerprints = map[string]string{"question": "same"}
			} else {
				s.config.Experts[i].Encoder = s.encoders["A"]
			}
		}
		got := s.ask(t, Request{Question: askedOften, Fusion: methodsOf("muf")})
		calls := s.encoders["A"].calls.Load() + s.encoders["B"].calls.Load() + s.encoders["C"].calls.Load()
		if calls != 1 {
			t.Errorf("by %s: %d encodings", how, calls)
		}
		if !reflect.DeepEqual(got.Results, want.Results) {
			t.Errorf("by %s: %v, each on its own: %v", how, ids(got.Results), ids(want.Results))
		}
	}
}

// TestFewPassages: collections of none and of one passage have an answer; one
// hit gives no confidence, no hit gives none at all.
func TestFewPassages(t *testing.T) {
	for _, passages := range []int{0, 1, 2} {
		s := newStage("AB", passages)
		for _, name := range MethodNames() {
			r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(name)})
			if len(r.Results) != passages {
				t.Errorf("%s over %d passages: %d results", name, passages, len(r.Results))
			}
			if encoded, _ := json.Marshal(r); passages == 0 && !strings.Contains(string(encoded), `"results":[]`) {
				t.Errorf("%s over nothing: %s", name, encoded)
			}
			if name != "muf" {
				continue
			}
			switch passages {
			case 0:
				if *r.Confidence != 0 || *r.Sources[0].Weight != .5 {
					t.Errorf("without hits: confidence %v, weight %v", *r.Confidence, *r.Sources[0].Weight)
				}
			case 1:
				if r.Confidence != nil || r.Sources[0].Confidence != nil || *r.Sources[0].Weight != .5 {
					t.Errorf("with one hit: confidence %v, source %+v", r.Confidence, r.Sources[0])
				}
			}
		}
	}
}
