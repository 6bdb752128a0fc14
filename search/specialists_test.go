package search

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/reply"
)

// fewStage has a reference A, four specialists, and a default of two; an
// expert without a domain, f, beside them.
func fewStage() *stage {
	s := newStage("ABCDEf", 60)
	s.config.Experts[5].Representatives = nil
	s.config.Defaults.Specialists = 2
	return s
}

// mostFamiliar returns the names of the n specialists that an answer by all of
// them says are the most familiar, in the order of their names.
func mostFamiliar(all reply.Response, n int) []string {
	sources := slices.DeleteFunc(slices.Clone(all.Sources), func(s reply.Source) bool { return s.Familiarity == nil })
	slices.SortStableFunc(sources, func(a, b reply.Source) int {
		if *a.Familiarity > *b.Familiarity {
			return -1
		}
		return 1
	})
	var names []string
	for _, s := range sources[:n] {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}

// TestOnlyTheFamiliarAreAsked: the answer is that of the chosen experts alone,
// and the others are not even asked for a vector.
func TestOnlyTheFamiliarAreAsked(t *testing.T) {
	s := fewStage()
	all := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), Specialists: 4})
	for _, n := range []int{1, 2, 3} {
		for _, e := range s.encoders {
			e.calls.Store(0)
		}
		chosen := mostFamiliar(all, n)
		few := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), Specialists: n})
		for name, e := range s.encoders {
			want := 0
			if strings.Contains("Af"+strings.Join(chosen, ""), name) {
				want = 1
			}
			if got := int(e.calls.Load()); got != want {
				t.Errorf("%d specialists (%v): %s was asked for %d vectors, want %d", n, chosen, name, got, want)
			}
		}
		named := append(append([]string{"A"}, chosen...), "f")
		same := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), Experts: &named})
		if !reflect.DeepEqual(few.Results, same.Results) || len(few.Degraded) != 0 {
			t.Errorf(
				"%d specialists: %v; %v named alone: %v; degraded %v",
				n,
				ids(few.Results),
				named,
				ids(same.Results),
				few.Degraded,
			)
		}
		for i, source := range few.Sources {
			skipped := !slices.Contains(named, source.Name) && source.Name != reply.WordSource
			if (source.Status == reply.StatusSkipped) != skipped || (source.Weight == nil) != skipped {
				t.Errorf("%d specialists: %+v", n, source)
			}
			if skipped &&
				(source.Familiarity == nil || *source.Familiarity != *all.Sources[i].Familiarity || source.Hits != 0) {
				t.Errorf("%d specialists: %+v, among all %+v", n, source, all.Sources[i])
			}
		}
	}
}

// TestWhoDecidesHowMany: the calibrated number is for the gate alone, for all
// experts; a request's own number is for every method.
func TestWhoDecidesHowMany(t *testing.T) {
	s := fewStage()
	skipped := func(r reply.Response) (n int) {
		for _, source := range r.Sources {
			if source.Status == reply.StatusSkipped {
				n++
			}
		}
		return n
	}
	for name, c := range map[string]struct {
		request Request
		want    int
	}{
		"the gate":              {Request{Fusion: methodsOf(fusion.MethodGate)}, 2},
		"more than the default": {Request{Fusion: methodsOf(fusion.MethodGate), Specialists: 3}, 1},
		"as many as there are":  {Request{Fusion: methodsOf(fusion.MethodGate), Specialists: 4}, 0},
		"experts by name":       {Request{Fusion: methodsOf(fusion.MethodGate), Experts: &[]string{"A", "B", "C", "D"}}, 0},
		"by name and number": {Request{Fusion: methodsOf(fusion.MethodGate), Experts: &[]string{"B", "C", "D"},
			Specialists: 1}, 2},
		"another method":         {Request{Fusion: methodsOf(fusion.MethodRRF)}, 0},
		"another, with a number": {Request{Fusion: methodsOf(fusion.MethodSum), Specialists: 1}, 3},
		"a list with another":    {Request{Fusion: listOf(fusion.MethodGate, fusion.MethodSum)}, 0},
		"a list, with a number":  {Request{Fusion: listOf(fusion.MethodGate, fusion.MethodSum), Specialists: 2}, 2},
	} {
		c.request.Question = askedOften
		if got := skipped(s.ask(t, c.request)); got != c.want {
			t.Errorf("%s: %d skipped, want %d", name, got, c.want)
		}
	}
	s.config.Defaults.Auto = fusion.MethodGate
	if got := skipped(s.ask(t, Request{Question: askedOften})); got != 2 {
		t.Errorf("auto: %d skipped", got)
	}
	if e := s.refused(t, Request{Question: askedOften, Specialists: -1}); e.Code != "out_of_range" ||
		e.Fields[0].Pointer != "/specialists" {
		t.Errorf("%+v", e)
	}
	s.config.Reference = ""
	if got := skipped(s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})); got != 0 {
		t.Errorf("nobody knows who is familiar, and %d are skipped", got)
	}
	s.config.Defaults.Specialists = -1
	if _, err := NewEngine(s.config); err == nil {
		t.Error("a negative default was accepted")
	}
}

// TestTheGateIsTheSameInAList: what others are asked for does not change it.
func TestTheGateIsTheSameInAList(t *testing.T) {
	s := fewStage()
	alone := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})
	listed := s.ask(t, Request{Question: askedOften, Fusion: listOf(fusion.MethodSum, fusion.MethodGate)})
	if !reflect.DeepEqual(alone.Results, listed.Rankings[1].Results) {
		t.Errorf("alone %v, in a list %v", ids(alone.Results), ids(listed.Rankings[1].Results))
	}
	engine := s.engine(t)
	compared, err := engine.Compare(context.Background(), []Request{
		{
			Question: askedOften,
			Fusion:   methodsOf(fusion.MethodGate),
		}, {Question: askedOften, Fusion: methodsOf(fusion.MethodRRF)}})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(alone.Results, compared[0].Results) {
		t.Errorf("alone %v, compared %v", ids(alone.Results), ids(compared[0].Results))
	}
	_, err = engine.Compare(context.Background(), []Request{{Question: askedOften, Specialists: 1},
		{Question: askedOften, Specialists: 1, Experts: &[]string{"A", "B"}}})
	var refused *fault.Error
	if !errors.As(err, &refused) || refused.Code != "not_comparable" {
		t.Errorf("other experts to choose from: %v", err)
	}
	if err := engine.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestTheReferenceFails: all specialists are asked when it is broken, and none
// when the server is full.
func TestTheReferenceFails(t *testing.T) {
	s := fewStage()
	s.encoders["A"].hook = func(context.Context) error { return errors.New("gone") }
	r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})
	for _, source := range r.Sources {
		status := map[bool]string{true: reply.StatusFailed, false: reply.StatusOK}
		if want := status[source.Name == "A"]; source.Status != want {
			t.Errorf("the reference is broken: %+v", source)
		}
	}
	s.encoders["A"].hook = func(context.Context) error { return full{} }
	for _, e := range s.encoders {
		e.calls.Store(0)
	}
	r = s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})
	for _, source := range r.Sources {
		ok := source.Name == "f" || source.Name == reply.WordSource
		if want := map[bool]string{true: reply.StatusOK, false: reply.StatusOverloaded}[ok]; source.Status != want {
			t.Errorf("the reference's queue is full: %+v", source)
		}
	}
	if len(r.Degraded) < 5 || s.encoders["B"].calls.Load() != 0 {
		t.Errorf("degraded %v; B was asked %d times", r.Degraded, s.encoders["B"].calls.Load())
	}
}

// TestASpecialistWithTheReferencesEncoder checks that it is served by the vector that chose it.
func TestASpecialistWithTheReferencesEncoder(t *testing.T) {
	s := fewStage()
	s.config.Experts[1].Encoder = s.config.Experts[0].Encoder
	s.config.Experts[1].Representatives = draw(s.encoders["A"].seed, askedOften) // the question itself
	r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), Specialists: 1})
	if r.Sources[1].Status != reply.StatusOK || s.encoders["A"].calls.Load() != 1 {
		t.Errorf("%+v after %d encoder passes", r.Sources[1], s.encoders["A"].calls.Load())
	}
}

// TestTheReferenceIsNotAmongTheAsked: it encodes once for all that needs its
// vector, and when it fails the observer is told.
func TestTheReferenceIsNotAmongTheAsked(t *testing.T) {
	s := fewStage()
	s.config.Experts[1].Chance = new(own)
	for _, method := range []string{fusion.MethodGate, fusion.MethodSum} {
		s.encoders["A"].calls.Store(0)
		r := s.ask(
			t,
			Request{Question: askedOften, Fusion: methodsOf(method), Experts: &[]string{"B", "C", "D"}, Specialists: 2},
		)
		if n := s.encoders["A"].calls.Load(); n != 1 {
			t.Errorf("%s: the reference encoded %d times", method, n)
		}
		for _, source := range r.Sources {
			if (source.Familiarity == nil) != (source.Name == reply.WordSource) {
				t.Errorf("%s: %+v", method, source)
			}
			if source.Name == "B" && (source.Chance != nil) != (source.Status == reply.StatusOK) {
				t.Errorf("%s: B is %s and its chance %v", method, source.Status, source.Chance)
			}
		}
	}
	s.encoders["A"].hook = func(context.Context) error { return errors.New("gone") }
	seen := &recorder{stages: map[string]int{}, sources: map[string]string{}}
	s.config.Observer = seen
	r := s.ask(
		t,
		Request{
			Question:    askedOften,
			Fusion:      methodsOf(fusion.MethodSum),
			Experts:     &[]string{"B", "C", "D"},
			Specialists: 2,
		},
	)
	if !strings.HasPrefix(seen.sources["A"], reply.StatusFailed) || len(r.Degraded) != 0 {
		t.Errorf("the reference fails: told of %v, degraded %v", seen.sources, r.Degraded)
	}
	for _, source := range r.Sources {
		if source.Chance != nil || source.Status != reply.StatusOK {
			t.Errorf("the reference fails: %+v", source)
		}
	}
	r = s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})
	for _, source := range r.Sources {
		if source.Chance != nil {
			t.Errorf(
				"nobody knows how familiar the question is, and the chance of %s is %v", source.Name, *source.Chance,
			)
		}
	}
}
