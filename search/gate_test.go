package search

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/search/internal/sources"
)

// TestGateListensToTheFamiliar: with a steep coefficient the specialist whose
// representatives are the question itself decides alone; its familiarity is
// computed here by hand.
func TestGateListensToTheFamiliar(t *testing.T) {
	s := newStage("ABC", 60)
	s.config.Defaults.Gate = &fusion.Gate{
		Generalist: -1000,
		Base:       -1000,
		Dense:      []float64{1000, 0, 0, 0, 0, 0, 0},
		Lexical:    make([]float64, len(fusion.LexicalFeatureNames())),
		Words:      -1000,
	}
	asked := draw(s.encoders["A"].seed, askedOften)
	s.config.Experts[1].Representatives = nil
	for range 3 {
		s.config.Experts[1].Representatives = append(s.config.Experts[1].Representatives, asked...)
	}
	got := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), K: 5})
	for i, source := range got.Sources {
		want := 0.0
		if source.Name == "B" {
			want = 1
			if f := float64(product(asked, asked)); source.Familiarity == nil || math.Abs(*source.Familiarity-f) > 1e-6 {
				t.Errorf("familiarity %v, want %v", source.Familiarity, f)
			}
		}
		if math.Abs(*source.Weight-want) > 1e-9 {
			t.Errorf("source %d, %s: weight %v, want %v", i, source.Name, *source.Weight, want)
		}
	}
	var own []string
	vector, err := s.encoders["B"].EncodeQuestion(context.Background(), askedOften)
	if err != nil {
		t.Fatal(err)
	}
	hits, err := s.vectors["B"].Search(context.Background(), vector, 5, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hits {
		own = append(own, s.library.shelf.passages[h.Ordinal].ID)
	}
	if !slices.Equal(ids(got.Results), own) {
		t.Errorf("results %v, B's own are %v", ids(got.Results), own)
	}
}

// TestGateWithoutItsReference: the reference need not be asked for answers, and
// where it fails every expert is a generalist and the answer says so.
func TestGateWithoutItsReference(t *testing.T) {
	s := newStage("ABC", 60)
	all := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})
	two := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), Experts: &[]string{"B", "C"}})
	if len(two.Degraded) != 0 || *two.Sources[0].Familiarity != *all.Sources[1].Familiarity {
		t.Errorf("without the reference: %+v, degraded %v; with it %+v", two.Sources[0], two.Degraded, all.Sources[1])
	}
	s.encoders["A"].hook = func(context.Context) error { return errors.New("gone") }
	lost := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), Experts: &[]string{"B", "C"}})
	if len(lost.Degraded) != 1 || lost.Sources[0].Familiarity != nil || len(lost.Results) == 0 {
		t.Errorf("degraded %v, sources %+v", lost.Degraded, lost.Sources)
	}
}

// TestFamiliarityByHand: eleven representatives, of which the farthest does
// not count.
func TestFamiliarityByHand(t *testing.T) {
	q := []float32{1, 0, 0, 0, 2}
	var representatives []float32
	sum := 0.0
	for i := range 11 {
		representatives = append(representatives, float32(i), 9, 9, 9, .5)
		if i > 0 {
			sum += float64(i) + 1
		}
	}
	if got := sources.Familiarity(q, representatives); math.Abs(got-sum/10) > 1e-6 {
		t.Errorf("familiarity %v, want %v", got, sum/10)
	}
	if got, want := sources.InnerProduct([]float32{1, 2, 3, 4, 5, 6, 7},
		[]float32{7, 6, 5, 4, 3, 2, 1}), float32(84); got != want {
		t.Errorf("inner product %v, want %v", got, want)
	}
}

func TestGateConfiguration(t *testing.T) {
	for name, spoil := range map[string]func(*EngineConfig){
		"unknown reference": func(c *EngineConfig) { c.Reference = "Z" },
		"broken rows":       func(c *EngineConfig) { c.Experts[1].Representatives = make([]float32, 7) },
		"broken gate":       func(c *EngineConfig) { c.Defaults.Gate = &fusion.Gate{} },
		"auto without": func(c *EngineConfig) {
			c.Defaults.Auto = fusion.MethodGate
			c.Defaults.Gate = nil
		},
	} {
		s := newStage("AB", 10)
		spoil(&s.config)
		if _, err := NewEngine(s.config); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	s := newStage("AB", 10)
	s.config.Defaults.Gate = nil
	e := s.refused(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})
	if e.Code != "needs_calibration" {
		t.Errorf("%+v", e)
	}
	s.config.Defaults.Gate = &fusion.Gate{
		Dense:   make([]float64, 7),
		Lexical: make([]float64, len(fusion.LexicalFeatureNames())),
	}
	s.config.Defaults.Auto = fusion.MethodGate
	if r := s.ask(t, Request{Question: askedOften}); r.Fusion != fusion.MethodGate {
		t.Errorf("auto is %q", r.Fusion)
	}
}
