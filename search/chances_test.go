package search

import (
	"slices"
	"testing"

	"conclave/fusion"
)

// sure gives every answer one chance for the first passage and another for
// more, and keeps the signals.
type sure struct {
	first, any float64
	seen       []float64
}

func (s *sure) Of(signals []float64, k int) (float64, error) {
	s.seen = signals
	if k > 1 {
		return s.any, nil
	}
	return s.first, nil
}

// TestAbstains: below min_confidence there are no results, at it there are.
func TestAbstains(t *testing.T) {
	s := newStage("ABC", 60)
	judge := &sure{first: .4, any: .7}
	s.config.Defaults.Chances = judge
	for _, c := range []struct {
		least float64
		none  bool
	}{{0, false}, {.4, false}, {.41, true}} {
		r := s.ask(t, Request{Question: question, Fusion: methodsOf(MethodGate), MinConfidence: c.least, K: 5})
		if *r.Confidence != .4 || *r.Any != .7 || r.Abstained != c.none || (len(r.Results) == 0) != c.none || r.Results == nil {
			t.Errorf("at %v: confidence %v, any %v, abstained %v, %d results", c.least, *r.Confidence, *r.Any, r.Abstained, len(r.Results))
		}
	}
	if len(judge.seen) != len(fusion.SignalNames()) || judge.seen[0] == 0 {
		t.Errorf("signals %v", judge.seen)
	}
	listed := s.ask(t, Request{Question: question, Fusion: listOf(MethodGate), MinConfidence: .5})
	if r := listed.Rankings[0]; !r.Abstained || len(r.Results) != 0 {
		t.Errorf("in a list: %+v", r)
	}
	one := s.ask(t, Request{Question: question, Fusion: methodsOf(MethodGate), K: 1})
	ten := s.ask(t, Request{Question: question, Fusion: methodsOf(MethodGate), K: 10})
	if len(one.Results) != 1 || one.Results[0].ID != ten.Results[0].ID {
		t.Errorf("one result %v, ten %v", ids(one.Results), ids(ten.Results))
	}
}

// TestMinConfidenceNeedsOne: a number that nobody calibrated is no threshold.
func TestMinConfidenceNeedsOne(t *testing.T) {
	s := newStage("ABC", 20)
	for _, r := range []Request{
		{Question: question, Fusion: methodsOf(MethodRRF), MinConfidence: .5},
		{Question: question, Fusion: methodsOf(MethodGate), MinConfidence: .5},
	} {
		if e := s.refused(t, r); e.Code != "needs_calibration" || e.Fields[0].Pointer != "/min_confidence" {
			t.Errorf("%v: %+v", r.Fusion, e)
		}
	}
	if e := s.refused(t, Request{Question: question, MinConfidence: 1.5}); e.Fields[0].Pointer != "/min_confidence" {
		t.Errorf("%+v", e)
	}
	s.ask(t, Request{Question: question, Fusion: methodsOf(MethodMUF), MinConfidence: .01})
}

// own gives every source one chance, and keeps the signals by their number.
type own struct{ seen [][]float64 }

func (o *own) Of(signals []float64) (float64, error) {
	o.seen = append(o.seen, signals)
	return .25, nil
}

// TestSourcesHaveChances: where it is calibrated, where words were asked, and
// where the base says how familiar the question is; the same whoever else was
// asked.
func TestSourcesHaveChances(t *testing.T) {
	s := newStage("ABCD", 60)
	b, words := new(own), new(own)
	s.config.Experts[1].Chance, s.config.Defaults.WordsChance = b, words
	no := false
	with := func(r Response) (names []string) {
		for _, source := range r.Sources {
			if source.Chance != nil {
				names = append(names, source.Name)
				if *source.Chance != .25 {
					t.Errorf("%s: chance %v", source.Name, *source.Chance)
				}
			}
		}
		return names
	}
	both := []string{"B", WordSource}
	for name, c := range map[string]struct {
		r    Request
		want []string
	}{
		"the gate":          {Request{Fusion: methodsOf(MethodGate)}, both},
		"ranks":             {Request{Fusion: methodsOf(MethodRRF)}, both},
		"MUF has no words":  {Request{Fusion: methodsOf(MethodMUF)}, nil},
		"no words":          {Request{Fusion: methodsOf(MethodRRF), BM25: &no}, nil},
		"no base, for none": {Request{Fusion: methodsOf(MethodRRF), Experts: &[]string{"B", "C"}}, nil},
		"the gate encodes":  {Request{Fusion: methodsOf(MethodGate), Experts: &[]string{"B", "C"}}, both},
		"one specialist":    {Request{Fusion: methodsOf(MethodGate), Experts: &[]string{"A", "B"}}, both},
	} {
		c.r.Question = question
		if got := with(s.ask(t, c.r)); !slices.Equal(got, c.want) {
			t.Errorf("%s: chances of %v, want %v", name, got, c.want)
		}
	}
	for _, o := range []*own{b, words} {
		for _, signals := range o.seen[1:] {
			if !slices.Equal(signals, o.seen[0]) {
				t.Errorf("the signals are %v, and with other experts beside %v", o.seen[0], signals)
			}
		}
	}
	if len(b.seen[0]) != len(fusion.SourceSignalNames(fusion.Specialist)) || len(words.seen[0]) != len(fusion.SourceSignalNames(fusion.Lexical)) {
		t.Errorf("%d and %d signals", len(b.seen[0]), len(words.seen[0]))
	}
}
