package search

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/reply"
)

// TestCCE: what is served is what fusion makes of the granularities' evidence, at the
// calibrated temperature, of those that calibration chose.
func TestCCE(t *testing.T) {
	for _, c := range []struct {
		chosen  []string
		columns []int
	}{{nil, []int{0, 1}}, {[]string{"B"}, []int{1}}} {
		s := newStage("ABC", 60)
		s.config.Defaults.CCE = fusion.CCEOptions{Temperature: .3}
		s.config.Defaults.Granularities = c.chosen
		engine := s.engine(t)
		found, err := engine.Gather(context.Background(), Request{Question: askedOften}, 15)
		if err != nil {
			t.Fatal(err)
		}
		if err := engine.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		want, err := fusion.CCE(found.Table, c.columns, s.config.Defaults.CCE, fusion.Exact, 10)
		if err != nil {
			t.Fatal(err)
		}
		got := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodCCE), MinConfidence: .01})
		if got.Confidence == nil || *got.Confidence != run.Printed(*want.Confidence) ||
			got.Basis != reply.BasisCalibrated {
			t.Errorf("chosen %v: confidence %v, want %v", c.chosen, got.Confidence, *want.Confidence)
		}
		for i, r := range got.Results {
			if id := s.library.shelf.passages[want.Items[i].Ordinal].ID; r.ID != id {
				t.Errorf("chosen %v: rank %d is %s, want %s", c.chosen, i+1, r.ID, id)
			}
		}
		if skipped := sourceOf(got, "C"); skipped.Status != reply.StatusSkipped || skipped.Reason == "" {
			t.Errorf("an expert that is no granularity: %+v", skipped)
		}
	}
}

// TestCCERefused: it needs granularities, or names, and its confidence is compared where
// somebody calibrated it alone: for granularities.
func TestCCERefused(t *testing.T) {
	cce := methodsOf(fusion.MethodCCE)
	for _, c := range []struct {
		stage       string
		temperature float64
		request     Request
		code        string
	}{
		{"C", 0, Request{Question: askedOften, Fusion: cce}, "needs_experts"},
		{"ABC", 0, Request{Question: askedOften, Fusion: cce, MinConfidence: .5}, "needs_calibration"},
		{"ABC", .3, Request{Question: askedOften, Fusion: cce, MinConfidence: .5, Experts: &[]string{"A", "C"}}, "needs_calibration"},
		{"ABC", .3, Request{Question: askedOften, Fusion: cce, MinConfidence: .5, Sharpness: 3}, "needs_calibration"},
	} {
		s := newStage(c.stage, 60)
		s.config.Defaults.CCE.Temperature = c.temperature
		if e := s.refused(t, c.request); e.Code != c.code {
			t.Errorf("%+v: %s", c, e.Code)
		}
	}
}

// TestCCEOfNamedExperts: of experts that are no granularities the surest answers too, or
// their sum, and hybrid weighs experts without ensembles in the same way.
func TestCCEOfNamedExperts(t *testing.T) {
	s := newStage("Abc", 60)
	s.config.Defaults.CCE.Temperature = .3
	engine := s.engine(t)
	found, err := engine.Gather(context.Background(), Request{Question: askedOften}, 15)
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for name, named := range map[string][]string{"surest": {"A", "b"}, "sum": {"A", "b"}, "hybrid": {"b", "c"}} {
		var columns []int
		for _, x := range named {
			columns = append(columns, slices.Index([]string{"A", "b", "c"}, x))
		}
		o := fusion.CCEOptions{Temperature: .3}
		r := Request{Question: askedOften, Fusion: methodsOf(fusion.MethodCCE), Experts: &named}
		if name != "surest" {
			o.Sharpness, r.Sharpness = 2, 2
		}
		want, err := fusion.CCE(found.Table, columns, o, fusion.Exact, 60)
		if err != nil {
			t.Fatal(err)
		}
		if name == "hybrid" { // with no weight of words, which find more candidates
			r.Fusion = methodsOf(fusion.MethodHybrid)
			r.Weights = map[string]float64{reply.WordSource: 0}
			r.K = 60
		}
		got := s.ask(t, r)
		if got.Basis != "" {
			t.Errorf("%s: the basis of the confidence is %q, and nobody fitted it", name, got.Basis)
		}
		scores := map[string]float64{}
		for _, item := range want.Items {
			scores[s.library.shelf.passages[item.Ordinal].ID] = run.Printed(item.Score)
		}
		same := 0
		for i, result := range got.Results {
			if score, candidate := scores[result.ID]; candidate {
				if same++; math.Abs(score-result.Score) > 1e-8 {
					t.Errorf("%s: rank %d is %s with %v, want %v", name, i+1, result.ID, result.Score, score)
				}
			}
		}
		if name != "hybrid" &&
			(same != len(got.Results) || *got.Confidence != run.Printed(*want.Confidence) ||
				got.Results[0].ID != s.library.shelf.passages[want.Items[0].Ordinal].ID) ||
			same < 10 {
			t.Errorf("%s: %d of %d, confidence %v", name, same, len(got.Results), got.Confidence)
		}
	}
}

// TestGatherAmong: all sources rank the chosen passages, by their true scores.
func TestGatherAmong(t *testing.T) {
	s := newStage("AB", 60)
	engine := s.engine(t)
	var chosen []rank.Ordinal
	found, err := engine.GatherAmong(
		context.Background(),
		Request{Question: askedOften},
		20,
		func(words []rank.Hit) ([]rank.Ordinal, error) {
			if len(words) == 0 {
				t.Error("BM25 found nothing to choose from")
			}
			chosen = []rank.Ordinal{51, 3, 17, 40}
			for _, h := range words {
				if !slices.Contains(chosen, h.Ordinal) {
					chosen = append(chosen, h.Ordinal)
					break
				}
			}
			return chosen, nil
		},
	)
	// A source lets go of its generation just after it has answered.
	if err := errors.Join(err, engine.Close(context.Background())); err != nil {
		t.Fatal(err)
	}
	if found.Table.Len() != len(chosen) || len(found.Sources) < 3 {
		t.Fatalf(
			"%d passages of %d sources, want %d of three or more", found.Table.Len(), len(found.Sources), len(chosen),
		)
	}
	no := false
	for column, name := range []string{"A", "B"} {
		all := map[string]float64{}
		for _, r := range s.ask(t, Request{Question: askedOften, K: 60, Candidates: 60, Exact: true, Fusion: methodsOf(fusion.MethodSum), Experts: &[]string{name}, BM25: &no, Normalisation: "raw"}).Results {
			all[r.ID] = r.Score
		}
		ranking, err := fusion.Sum(
			found.Table, []fusion.Source{{Column: column, Weight: 1}}, fusion.LinearOptions{}, 60,
		)
		if err != nil || len(ranking.Items) != len(chosen) {
			t.Fatalf("%s: %d passages, %v", name, len(ranking.Items), err)
		}
		for _, item := range ranking.Items {
			if id := s.library.shelf.passages[item.Ordinal].ID; run.Printed(item.Score) != all[id] ||
				!slices.Contains(chosen, item.Ordinal) {
				t.Errorf("%s scores %s %v, alone %v", name, id, item.Score, all[id])
			}
		}
	}
}

// partVectors give a passage's vector for that of its first word.
type partVectors struct{ *vectors }

func (v partVectors) Best(question []float32, o rank.Ordinal) (rank.Span, float32, error) {
	scores := make([]float32, 1)
	err := v.Scores(context.Background(), question, []rank.Ordinal{o}, scores)
	return rank.Span{End: 3}, scores[0], err
}

// TestHighlightOfGranularities: every method in which a granularity takes part shows the
// part that is most similar, of those that count for the score.
func TestHighlightOfGranularities(t *testing.T) {
	s := newStage("ABC", 60)
	for _, name := range []string{"A", "B"} {
		s.library.shelf.vectors[name] = partVectors{s.vectors[name]}
	}
	shown := []string{"text", "contributions", "sources", "highlights"}
	for _, method := range []string{fusion.MethodCCE, fusion.MethodSum, fusion.MethodRRF, fusion.MethodGate,
		fusion.MethodMUF} {
		r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(method), Fields: shown})
		for _, result := range r.Results {
			best := -2.
			for _, c := range result.Contributions {
				if (c.Source == "A" || c.Source == "B") && c.Weight > 0 && c.Score != nil {
					best = max(best, *c.Score)
				}
			}
			if h := result.Highlight; h == nil || h.End != 3 || method == fusion.MethodCCE && h.Score != best {
				t.Errorf("%s: %s has the highlight %+v, want that with %v", method, result.ID, h, best)
			}
		}
	}
	if r := s.ask(t, Request{Question: askedOften, Experts: &[]string{"C"}, Fusion: methodsOf(fusion.MethodSum),
		Fields: shown}); r.Results[0].Highlight != nil {
		t.Errorf("an expert without granules has the highlight %+v", r.Results[0].Highlight)
	}
}
