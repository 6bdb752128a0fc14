package search

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
)

// checkResponse checks what must hold of every answer, as printed.
func checkResponse(t testing.TB, r Response) {
	t.Helper()
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var printed Response
	if err := json.Unmarshal(encoded, &printed); err != nil {
		t.Fatal(err)
	}
	rankings := append(
		[]Ranking{{Fusion: r.Fusion, Confidence: r.Confidence, Results: printed.Results}},
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
				t.Errorf("%s: contributions of %s add up to %v, its score is %v", ranking.Fusion, result.ID, sum, result.Score)
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

// muf computes MUF written out, without the fusion package: float64 sums over maps.
func (s *stage) muf(
	candidates, depth int,
	temperature, sharpness float64,
	missing string,
) (scores map[string]float64, confidences map[string]float64) {
	lists, confidences := map[string][]rank.Hit{}, map[string]float64{}
	union := map[rank.Ordinal]bool{}
	for name, ens := range s.ensembles {
		q, _ := s.encoders[name].EncodeQuestion(context.Background(), question)
		hits, _ := s.vectors[name].Search(context.Background(), q, 10000, true)
		top := hits[:min(depth, len(hits))]
		members, _ := ens.Members(context.Background(), q)
		p := make([][]float64, ens.members)
		for m := range p {
			z := 0.0
			for _, h := range top {
				x := math.Exp(float64(product(members[m*dimension:(m+1)*dimension], s.vectors[name].rows[h.Ordinal])) / temperature)
				p[m] = append(p[m], x)
				z += x
			}
			for i := range p[m] {
				p[m][i] /= z
			}
		}
		information := 0.0
		for i := range top {
			mean := 0.0
			for m := range p {
				mean += p[m][i] / float64(len(p))
				information += p[m][i] * math.Log(p[m][i]+1e-6) / float64(len(p))
			}
			information -= mean * math.Log(mean+1e-6)
		}
		confidences[name] = 1 - information/math.Log(float64(len(p)))
		lists[name] = hits[:min(candidates, len(hits))]
		for _, h := range lists[name] {
			union[h.Ordinal] = true
		}
	}
	sum := 0.0
	for _, c := range confidences {
		sum += math.Pow(c, sharpness)
	}
	scores = map[string]float64{}
	for o := range union {
		for name, hits := range lists {
			q, _ := s.encoders[name].EncodeQuestion(context.Background(), question)
			score := product(q, s.vectors[name].rows[o])
			if found := slices.ContainsFunc(hits, func(h rank.Hit) bool { return h.Ordinal == o }); !found && missing == "min" {
				score = hits[len(hits)-1].Score
			}
			scores[s.library.shelf.passages[o].ID] += math.Pow(confidences[name], sharpness) / sum * float64(score)
		}
	}
	return scores, confidences
}

func TestMUF(t *testing.T) {
	for name, c := range map[string]struct {
		missing            string
		fitted, asked, has float64 // the sharpness
	}{
		"exact": {"exact", 0, 0, fusion.DefaultSharpness}, "min": {"min", 0, 0, fusion.DefaultSharpness},
		"the paper's": {"min", 2, fusion.PaperSharpness, fusion.PaperSharpness}, "calibrated": {"exact", 2, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage("ABC", 60)
			missing := c.missing
			s.config.Defaults.Sharpness = c.fitted
			got := s.ask(t, Request{Question: question, Fusion: methodsOf("muf"), Missing: missing, Sharpness: c.asked, K: 100})
			scores, confidences := s.muf(15, 20, .5, c.has, missing)
			want := make([]string, 0, len(scores))
			for id := range scores {
				want = append(want, id)
			}
			sort.Slice(want, func(i, j int) bool {
				a, b := printed(scores[want[i]]), printed(scores[want[j]]) // equal but for rounding is equal
				return a > b || a == b && want[i] < want[j]
			})
			if !slices.Equal(ids(got.Results), want) {
				t.Fatalf("order %v\nwritten out: %v", ids(got.Results), want)
			}
			origins := map[string]int{}
			for _, r := range got.Results {
				if math.Abs(r.Score-scores[r.ID]) > 1e-5 {
					t.Errorf("%s: score %v, written out %v", r.ID, r.Score, scores[r.ID])
				}
				for _, c := range r.Contributions {
					origins[c.Origin]++
				}
			}
			if origins["hit"] != 45 || origins[missing] == 0 || len(origins) != 2 {
				t.Errorf("origins %v: want 3 × 15 hits, and %s for the rest", origins, missing)
			}
			mean, weights := 0.0, 0.0
			for _, source := range got.Sources {
				if source.Kind != "dense" || source.Status != "ok" || source.Hits != 15 {
					t.Errorf("source %+v", source)
				}
				if math.Abs(*source.Confidence-confidences[source.Name]) > 1e-5 {
					t.Errorf("%s: confidence %v, written out %v", source.Name, *source.Confidence, confidences[source.Name])
				}
				mean += *source.Confidence / 3
				weights += *source.Weight
			}
			if math.Abs(*got.Confidence-mean) > 1e-8 || math.Abs(weights-1) > 1e-8 || got.Generation != 12 ||
				got.Fusion != "muf" {
				t.Errorf(
					"confidence %v (mean %v), weights add up to %v, generation %d, fusion %q",
					*got.Confidence,
					mean,
					weights,
					got.Generation,
					got.Fusion,
				)
			}
		})
	}
}

// TestDepthIsCalibrated: the number of candidates does not change a
// confidence, nor does asking for fewer than the depth.
func TestDepthIsCalibrated(t *testing.T) {
	s := newStage("AB", 60)
	var first []float64
	for _, candidates := range []int{1, 5, 20, 50, 1000} {
		r := s.ask(t, Request{Question: question, Fusion: methodsOf("muf"), Candidates: candidates, K: 1000})
		var confidences []float64
		for _, source := range r.Sources {
			confidences = append(confidences, *source.Confidence)
			if source.Hits != min(candidates, 60) {
				t.Errorf("%d candidates: %s has %d hits", candidates, source.Name, source.Hits)
			}
		}
		if first == nil {
			first = confidences
		}
		if !slices.Equal(first, confidences) {
			t.Errorf("%d candidates: confidences %v, with 1: %v", candidates, confidences, first)
		}
	}
}

// TestOnePass: a list of methods is answered as each alone, with one encoding.
func TestOnePass(t *testing.T) {
	s := newStage("AB", 60)
	names := []string{"muf", "rrf", "sum", "hybrid", "muf-sparse", "auto"}
	all := s.ask(t, Request{Question: question, Fusion: listOf(names...)})
	if n := s.encoders["A"].calls.Load(); n != 1 {
		t.Errorf("%d encodings for a list of methods", n)
	}
	if all.Results != nil || all.Fusion != "" || all.Sources[0].Weight != nil || len(all.Rankings) != len(names) {
		t.Fatalf("a list of methods has rankings and nothing else: %+v", all)
	}
	for i, name := range names {
		one := s.ask(t, Request{Question: question, Fusion: methodsOf(name)})
		ranking := all.Rankings[i]
		if ranking.Fusion != name || !reflect.DeepEqual(ranking.Results, one.Results) ||
			!reflect.DeepEqual(ranking.Confidence, one.Confidence) {
			t.Errorf("%s in a list: %+v\nalone: %+v", name, ranking, one.Results)
		}
	}
	if auto := all.Rankings[5]; auto.Method != "rrf" || !reflect.DeepEqual(auto.Results, all.Rankings[1].Results) {
		t.Errorf("auto stands for %q", auto.Method)
	}
	if one := s.ask(t, Request{Question: question}); one.Fusion != "rrf" || one.Confidence != nil {
		t.Errorf("the default is %q with confidence %v, want rrf without", one.Fusion, one.Confidence)
	}
	// A list of one is a list.
	if one := s.ask(t, Request{Question: question, Fusion: listOf("rrf")}); len(one.Rankings) != 1 || one.Results != nil {
		t.Errorf("a list of one method: %+v", one)
	}
}

// TestSources: which sources each method asks.
func TestSources(t *testing.T) {
	none := []string{}
	one := []string{"B"}
	yes := true
	no := false
	for _, c := range []struct {
		request Request
		want    string
	}{
		{Request{}, "A B bm25"},
		{Request{BM25: &yes}, "A B bm25"},
		{Request{BM25: &no}, "A B"},
		{Request{Experts: &none}, "bm25"},
		{Request{Experts: &one}, "B bm25"},
		{Request{Experts: &one, BM25: &no}, "B"},
		{Request{Fusion: methodsOf("muf")}, "A B"},
		{Request{Fusion: methodsOf("muf-sparse"), Experts: &one}, "B"},
		{Request{Fusion: methodsOf("hybrid")}, "A B bm25"},
		{Request{Fusion: methodsOf("sum"), Experts: &none}, "bm25"},
		{Request{Fusion: listOf("muf", "rrf")}, "A B bm25"},
		{Request{Fusion: listOf("muf", "muf-sparse")}, "A B"},
		{Request{Experts: &[]string{"B", "A"}}, "A B bm25"},
	} {
		c.request.Question = question
		s := newStage("AB", 60)
		r := s.ask(t, c.request)
		var names []string
		for _, source := range r.Sources {
			names = append(names, source.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%+v asks %s, want %s", c.request, got, c.want)
		}
		if r.Rankings == nil && len(r.Results) != 10 {
			t.Errorf("%+v: %d results", c.request, len(r.Results))
		}
	}
}

// TestMUFOfOneExpert checks that MUF of one expert ranks as that expert.
func TestMUFOfOneExpert(t *testing.T) {
	s := newStage("Ab", 60)
	r := s.ask(t, Request{Question: question, Fusion: methodsOf("muf"), Experts: &[]string{"A"}, K: 15})
	q, _ := s.encoders["A"].EncodeQuestion(context.Background(), question)
	hits, _ := s.vectors["A"].Search(context.Background(), q, 15, true)
	for i, h := range hits {
		if got := r.Results[i]; got.ID != s.library.shelf.passages[h.Ordinal].ID ||
			math.Abs(got.Score-float64(h.Score)) > 1e-8 {
			t.Errorf("result %d: %s %v, want passage %d with %v", i, got.ID, got.Score, h.Ordinal, h.Score)
		}
	}
}

// TestHybrid checks the sum, with the weight from the configuration and from
// the request, with one expert that nobody calibrated.
func TestHybrid(t *testing.T) {
	s := newStage("a", 60)
	for _, alpha := range []float64{.03, .5} {
		request := Request{Question: question, Fusion: methodsOf("hybrid"), K: 40}
		if alpha != .03 {
			request.Weights = map[string]float64{"bm25": alpha}
		}
		r := s.ask(t, request)
		q, _ := s.encoders["a"].EncodeQuestion(context.Background(), question)
		for _, result := range r.Results {
			o, _, _ := s.library.shelf.Ordinal(t.Context(), result.ID)
			want := float64(product(q, s.vectors["a"].rows[o])) + alpha*float64(s.words.score(question, o))
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
		for _, result := range s.ask(t, Request{Question: question, Fusion: methodsOf("hybrid"), Missing: missing,
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
		Request{Question: question, Fusion: methodsOf("hybrid"), Missing: "min", Weights: map[string]float64{"bm25": 0}},
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
	s.ask(t, Request{Question: question, Fusion: methodsOf("rrf")})
	s.ask(t, Request{Question: question, Fusion: methodsOf("sum"), Missing: "min"})
	s.ask(t, Request{Question: question, Fusion: methodsOf("sum"), Experts: &[]string{"A"}, BM25: &no})
}

// TestSum: raw among experts, z-scores as soon as BM25 takes part, and what
// the request says instead.
func TestSum(t *testing.T) {
	s := newStage("ab", 60)
	no := false
	part := func(r Response, source int) Contribution { return r.Results[0].Contributions[source] }
	r := s.ask(t, Request{Question: question, Fusion: methodsOf("sum"), BM25: &no})
	if c := part(r, 0); c.Contribution != *c.Score || c.Weight != 1 {
		t.Errorf("experts alone: %+v, want the raw score", c)
	}
	r = s.ask(t, Request{Question: question, Fusion: methodsOf("sum"), K: 1000})
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
		Request{Question: question, Fusion: methodsOf("sum"), Normalisation: "raw", Weights: map[string]float64{"bm25": .25}},
	)
	if c := part(r, 2); c.Weight != .25 || math.Abs(c.Contribution-.25**c.Score) > 1e-9 {
		t.Errorf("weighted raw: %+v", c)
	}
	r = s.ask(
		t,
		Request{Question: question, Fusion: methodsOf("sum"), Weights: map[string]float64{"bm25": 0, "a": 0, "b": 0}},
	)
	if c := part(r, 2); c.Weight != 1 {
		t.Errorf("all weights zero: %+v, want equal ones", c)
	}
}

func TestRRF(t *testing.T) {
	r := newStage(
		"ab",
		60,
	).ask(t, Request{Question: question, Fusion: methodsOf("rrf"), K: 100, Weights: map[string]float64{"a": 2}})
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
	var first Response
	for _, experts := range [][]string{{"A", "B", "C"}, {"C", "A", "B"}, {"B", "C", "A"}} {
		for range 5 {
			r, err := engine.Search(
				context.Background(),
				Request{Question: question, Fusion: listOf(MethodNames()...), Experts: &experts, Explain: true},
			)
			if err != nil {
				t.Fatal(err)
			}
			r.TookMS = 0
			for i := range r.Sources {
				r.Sources[i].Took = Took{}
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
	want := apart.ask(t, Request{Question: question, Fusion: methodsOf("muf")})
	for _, how := range []string{"fingerprint", "identity"} {
		s := newStage("ABC", 60)
		for i := range s.config.Experts {
			if how == "fingerprint" {
				s.config.Experts[i].Info.Fingerprints = map[string]string{"question": "same"}
			} else {
				s.config.Experts[i].Encoder = s.encoders["A"]
			}
		}
		got := s.ask(t, Request{Question: question, Fusion: methodsOf("muf")})
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
			r := s.ask(t, Request{Question: question, Fusion: methodsOf(name)})
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
