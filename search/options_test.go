package search

import (
	"slices"
	"strings"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/reply"
)

// TestOptionsOfMethods walks every option and every method, alone and resolved from
// "auto": what the method would not look at is refused, with where it stands and
// which methods take it, and what it takes is answered. In a list one method has
// to take it.
func TestOptionsOfMethods(t *testing.T) {
	yes := true
	options := map[string]struct {
		set   func(*Request)
		takes []string
	}{
		"/weights": {
			func(r *Request) { r.Weights = map[string]float64{reply.WordSource: .5} },
			[]string{"hybrid", "sum", "rrf"},
		},
		"/weights/B":     {func(r *Request) { r.Weights = map[string]float64{"B": .5} }, []string{"sum", "rrf"}},
		"/normalisation": {func(r *Request) { r.Normalisation = "minmax" }, []string{"muf", "hybrid", "sum"}},
		"/missing":       {func(r *Request) { r.Missing = "min" }, []string{"muf", "hybrid", "sum", "gate", "cce"}},
		"/sharpness":     {func(r *Request) { r.Sharpness = 2 }, []string{"muf", "hybrid", "cce"}},
		"/late":          {func(r *Request) { r.Late = &yes }, []string{"gate"}},
	}
	for _, name := range MethodNames() {
		if name == MethodAuto {
			continue
		}
		for _, asked := range []string{name, MethodAuto} {
			for pointer, option := range options {
				s, _, _ := lateStage()
				s.config.Defaults.Auto = name
				request := Request{Question: askedOften, Fusion: methodsOf(asked)}
				option.set(&request)
				if slices.Contains(option.takes, name) {
					s.ask(t, request)
					continue
				}
				e := s.refused(t, request)
				where := "/" + strings.Split(pointer, "/")[1]
				if e.Code != "unused_option" || !strings.HasPrefix(e.Fields[0].Pointer, where) ||
					!strings.Contains(e.Detail, option.takes[0]) {
					t.Errorf("%s by %s: %s at %+v: %s", pointer, asked, e.Code, e.Fields, e.Detail)
				}
				request.Fusion = Methods{Names: []string{asked, option.takes[0]}, Listed: true}
				if asked != MethodAuto {
					s.ask(t, request)
				}
			}
		}
	}
}

// TestWordsAlone: no experts named is words alone, by the gate too: late interaction
// takes no part.
func TestWordsAlone(t *testing.T) {
	s, _, _ := lateStage()
	r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), Experts: &[]string{}})
	if len(r.Results) == 0 || sourceOf(r, "tokens") != nil {
		t.Errorf("%d results, sources %+v", len(r.Results), r.Sources)
	}
	for _, source := range r.Sources {
		if source.Kind != reply.KindLexical {
			t.Errorf("%+v takes part in words alone", source)
		}
	}
}

// TestWithoutEnsemble: methods that weigh experts by how sure they are answer
// beside one that has no ensemble as if it were not there, and say so; in a list the
// others use it.
func TestWithoutEnsemble(t *testing.T) {
	for _, name := range []string{fusion.MethodMUF, fusion.MethodMUFSparse, fusion.MethodHybrid} {
		s := newStage("ABc", 60)
		want := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(name), Experts: &[]string{"A", "B"}})
		got := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(name)})
		c := sourceOf(got, "c")
		if !slices.Equal(ids(got.Results), ids(want.Results)) || got.Results[0].Score != want.Results[0].Score ||
			len(got.Degraded) > 0 {
			t.Errorf("%s: %v, without c %v; %+v", name, ids(got.Results), ids(want.Results), got.Degraded)
		}
		if c == nil || c.Status != reply.StatusSkipped || !strings.Contains(c.Reason, "no ensemble") || c.Hits != 0 {
			t.Errorf("%s: %+v", name, c)
		}
		list := s.ask(
			t, Request{Question: askedOften, Fusion: Methods{Names: []string{fusion.MethodRRF, name}, Listed: true}},
		)
		alone := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodRRF)})
		if !slices.Equal(ids(list.Rankings[0].Results), ids(alone.Results)) || len(list.Rankings[1].Results) == 0 {
			t.Errorf("%s in a list: rrf gives %v, alone %v", name, ids(list.Rankings[0].Results), ids(alone.Results))
		}
		for _, result := range list.Rankings[1].Results {
			if slices.ContainsFunc(result.Contributions, func(x reply.Contribution) bool { return x.Source == "c" }) {
				t.Errorf("%s in a list: c contributes to %+v", name, result)
			}
		}
		if c := sourceOf(list, "c"); c.Status != reply.StatusOK || !strings.Contains(c.Reason, name) {
			t.Errorf("%s in a list: %+v", name, c)
		}
		both, err := s.engine(t).
			Compare(t.Context(), []Request{{Question: askedOften, Fusion: methodsOf(fusion.MethodRRF)},
				{Question: askedOften, Fusion: methodsOf(name)}})
		if err != nil || !slices.Equal(ids(both[1].Results), ids(want.Results)) ||
			!slices.Equal(ids(both[0].Results), ids(alone.Results)) ||
			sourceOf(both[1], "c").Status != reply.StatusSkipped {
			t.Errorf("%s in a comparison: %v", name, err)
		}
	}
}

// TestAutoAnswers: an engine is not made whose "auto" its experts cannot answer.
func TestAutoAnswers(t *testing.T) {
	s := newStage("bc", 20)
	s.config.Defaults.Auto = fusion.MethodMUF
	if _, err := NewEngine(s.config); err == nil || !strings.Contains(err.Error(), "has an ensemble") {
		t.Errorf("made: %v", err)
	}
	s.config.Defaults.Auto = fusion.MethodSum
	if err := s.engine(t).current.Load().canAnswer(fusion.MethodMUF); kindOf(err) != fault.Invalid {
		t.Errorf("muf without ensembles: %v", err)
	}
	if err := s.engine(t).current.Load().canAnswer(fusion.MethodSum); err != nil {
		t.Error(err)
	}
}
