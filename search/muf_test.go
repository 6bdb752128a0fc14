package search

import (
	"context"
	"math"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/reply"
)

// muf computes MUF written out, without the fusion package: float64 sums over maps. It returns the scores by the
// passages' ids, and the confidences by the ensembles' names. An ensemble that did not find a candidate gives it the
// score of its last hit if missing is "min", else the one that it has.
func (s *stage) muf(
	candidates, depth int,
	temperature, sharpness float64,
	missing string,
) (scores map[string]float64, confidences map[string]float64) {
	lists, confidences := map[string][]rank.Hit{}, map[string]float64{}
	union := map[rank.Ordinal]bool{}
	for name, ens := range s.ensembles {
		q, _ := s.encoders[name].EncodeQuestion(context.Background(), askedOften)
		hits, _ := s.vectors[name].Search(context.Background(), q, 10000, true)
		top := hits[:min(depth, len(hits))]
		members, _ := ens.Members(context.Background(), q)
		p := make([][]float64, ens.members)
		for m := range p {
			z := 0.0
			for _, h := range top {
				x := math.Exp(
					float64(
						product(members[m*dimension:(m+1)*dimension], s.vectors[name].rows[h.Ordinal]),
					) / temperature,
				)
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
			q, _ := s.encoders[name].EncodeQuestion(context.Background(), askedOften)
			score := product(q, s.vectors[name].rows[o])
			if found := slices.ContainsFunc(hits, func(h rank.Hit) bool { return h.Ordinal == o }); !found &&
				missing == "min" {
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
			got := s.ask(
				t,
				Request{Question: askedOften, Fusion: methodsOf("muf"), Missing: missing, Sharpness: c.asked, K: 100},
			)
			scores, confidences := s.muf(15, 20, .5, c.has, missing)
			want := make([]string, 0, len(scores))
			for id := range scores {
				want = append(want, id)
			}
			sort.Slice(want, func(i, j int) bool {
				a, b := run.Printed(scores[want[i]]), run.Printed(scores[want[j]]) // equal but for rounding is equal
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
					t.Errorf(
						"%s: confidence %v, written out %v", source.Name, *source.Confidence, confidences[source.Name],
					)
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
		r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf("muf"), Candidates: candidates, K: 1000})
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
	all := s.ask(t, Request{Question: askedOften, Fusion: listOf(names...)})
	if n := s.encoders["A"].calls.Load(); n != 1 {
		t.Errorf("%d encodings for a list of methods", n)
	}
	if all.Results != nil || all.Fusion != "" || all.Sources[0].Weight != nil || len(all.Rankings) != len(names) {
		t.Fatalf("a list of methods has rankings and nothing else: %+v", all)
	}
	for i, name := range names {
		one := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(name)})
		ranking := all.Rankings[i]
		if ranking.Fusion != name || !reflect.DeepEqual(ranking.Results, one.Results) ||
			!reflect.DeepEqual(ranking.Confidence, one.Confidence) {
			t.Errorf("%s in a list: %+v\nalone: %+v", name, ranking, one.Results)
		}
	}
	if auto := all.Rankings[5]; auto.Method != "rrf" || !reflect.DeepEqual(auto.Results, all.Rankings[1].Results) {
		t.Errorf("auto stands for %q", auto.Method)
	}
	if one := s.ask(t, Request{Question: askedOften}); one.Fusion != "rrf" || one.Confidence != nil {
		t.Errorf("the default is %q with confidence %v, want rrf without", one.Fusion, one.Confidence)
	}
	// A list of one is a list.
	if one := s.ask(t, Request{Question: askedOften, Fusion: listOf("rrf")}); len(one.Rankings) != 1 ||
		one.Results != nil {
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
		c.request.Question = askedOften
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
	r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf("muf"), Experts: &[]string{"A"}, K: 15})
	q, _ := s.encoders["A"].EncodeQuestion(context.Background(), askedOften)
	hits, _ := s.vectors["A"].Search(context.Background(), q, 15, true)
	for i, h := range hits {
		if got := r.Results[i]; got.ID != s.library.shelf.passages[h.Ordinal].ID ||
			math.Abs(got.Score-float64(h.Score)) > 1e-8 {
			t.Errorf("result %d: %s %v, want passage %d with %v", i, got.ID, got.Score, h.Ordinal, h.Score)
		}
	}
}

// TestMUFWeighting: by familiarity the weights are those by certainty times a softmax of the familiarities that the
// answer shows, and a request for it without a specialist, or of another method, is refused.
func TestMUFWeighting(t *testing.T) {
	s := newStage("ABC", 60)
	specialists := &[]string{"B", "C"}
	ask := func(weighting string) reply.Response {
		return s.ask(t, Request{Question: askedOften, Fusion: methodsOf("muf"), Weighting: weighting, Experts: specialists})
	}
	plain, familiar := ask(""), ask("familiar")
	sum := 0.0
	want := make([]float64, len(plain.Sources))
	for i, source := range plain.Sources {
		if source.Weight == nil {
			continue
		}
		want[i] = *source.Weight * math.Exp(*familiar.Sources[i].Familiarity/.05)
		sum += want[i]
	}
	for i, source := range familiar.Sources {
		if source.Weight != nil && math.Abs(*source.Weight-want[i]/sum) > 1e-6 {
			t.Errorf("%s: weight %v, written out %v", source.Name, *source.Weight, want[i]/sum)
		}
	}
	if *plain.Sources[0].Weight == *familiar.Sources[0].Weight {
		t.Error("familiarity changes no weight")
	}
	e := s.engine(t)
	for pointer, r := range map[string]Request{
		"needs an expert that was trained": {Fusion: methodsOf("muf"), Experts: &[]string{"A"}},
		"it is for muf":                    {Fusion: methodsOf("gate")},
	} {
		r.Question, r.Weighting = askedOften, "familiar"
		if _, err := e.Search(t.Context(), Caller{}, r); err == nil || !strings.Contains(err.Error(), pointer) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}
