package search

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
)

// turned is a head that reverses a vector.
type turned struct {
	gate []float32
	err  error
}

func (h *turned) Domains() []string { return []string{"left", "right"} }

func (h *turned) Apply(_ context.Context, question []float32) (vector, gate []float32, err error) {
	vector = slices.Clone(question)
	slices.Reverse(vector)
	return vector, h.gate, h.err
}

// headed has a reference A with a specialist B, and H: a head on A's vectors that finds
// passages by A's.
func headed() (*stage, *turned) {
	s := newStage("ABH", 60)
	head := &turned{gate: []float32{.25, .75}}
	s.library.shelf.vectors["H"] = s.library.shelf.vectors["A"]
	a, h := &s.config.Experts[0], &s.config.Experts[2]
	h.Encoder = a.Encoder
	h.Head = head
	h.Representatives = nil
	h.Ensemble = nil
	h.Info.Calibration = nil
	a.Info.Fingerprints = map[string]string{"question": "run", "passage": "p"}
	h.Info.Fingerprints = map[string]string{"question": "behind", learned.FingerprintRun: "run", "passage": "p"}
	return s, head
}

// TestAHeadSharesTheRunAndNotTheVector: one run serves both; the head's hits are those
// of the reversed vector, the base stays the base, and the gate is in the answer.
func TestAHeadSharesTheRunAndNotTheVector(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}} { // whoever comes first runs the encoder
		s, head := headed()
		x := s.config.Experts
		s.config.Experts = []learned.Expert{x[order[0]], x[order[1]], x[order[2]]}
		all := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), K: 60})
		if got := s.encoders["A"].calls.Load(); got != 1 {
			t.Errorf("%v: the encoder ran %d times for two experts", order, got)
		}
		for _, source := range all.Sources {
			switch domains := source.Domains; {
			case source.Name != "H" && domains != nil:
				t.Errorf("%v: %s has the domains %v", order, source.Name, domains)
			case source.Name == "H" && (len(domains) != 2 || domains["left"] != .25 || domains["right"] != .75):
				t.Errorf("%v: domains %v", order, domains)
			}
		}
		encoded := draw(s.encoders["A"].seed, askedOften)
		changed, _, _ := head.Apply(t.Context(), encoded)
		for name, vector := range map[string][]float32{"A": encoded, "H": changed} {
			want, err := s.vectors["A"].Search(t.Context(), vector, 5, true)
			if err != nil {
				t.Fatal(err)
			}
			got := s.ask(
				t,
				Request{
					Question: askedOften,
					Experts:  &[]string{name},
					Fusion:   methodsOf(fusion.MethodSum),
					BM25:     run.Ptr(false),
					K:        5,
				},
			)
			for i, h := range want {
				if id := s.library.shelf.passages[h.Ordinal].ID; got.Results[i].ID != id ||
					math.Abs(got.Results[i].Score-float64(h.Score)) > 1e-6 {
					t.Errorf(
						"%v: %s alone: result %d is %s (%v), want %s (%v)",
						order,
						name,
						i,
						got.Results[i].ID,
						got.Results[i].Score,
						id,
						h.Score,
					)
				}
			}
		}
	}
}

// TestAHeadIsNotTheBase: a gate that hears the base alone gives the head nothing, and
// the familiarity of others is measured with the run's vector.
func TestAHeadIsNotTheBase(t *testing.T) {
	s, _ := headed()
	with := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), Experts: &[]string{"B", "H"}})
	without := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), Experts: &[]string{"B"}})
	if *with.Sources[0].Familiarity != *without.Sources[0].Familiarity {
		t.Errorf(
			"familiarity %v with the head, %v without", *with.Sources[0].Familiarity, *without.Sources[0].Familiarity,
		)
	}
	s.config.Defaults.Gate = &fusion.Gate{
		Specialist: -1000,
		Generalist: -1000,
		Dense:      make([]float64, len(fusion.DenseFeatureNames())),
		Lexical:    make([]float64, len(fusion.LexicalFeatureNames())),
		Words:      -1000,
	}
	got := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})
	for _, source := range got.Sources {
		if want := map[bool]float64{true: 1}[source.Name == "A"]; math.Abs(*source.Weight-want) > 1e-9 {
			t.Errorf("%s weighs %v, want %v", source.Name, *source.Weight, want)
		}
	}
}

// TestAHeadThatFails: the expert is left out, and the base answers.
func TestAHeadThatFails(t *testing.T) {
	for what, gate := range map[string][]float32{"error": {.1, .2}, "too few": {.1}, "no probability": {.1, 2}} {
		s, head := headed()
		head.gate = gate
		if what == "error" {
			head.err = errors.New("broken")
		}
		got := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})
		if len(got.Degraded) != 1 || got.Degraded[0].Source != "H" || got.Sources[0].Status != reply.StatusOK ||
			len(got.Results) == 0 {
			t.Errorf("%s: degraded %v, %d results", what, got.Degraded, len(got.Results))
		}
	}
}

// TestEmbeddingBehindAHead: the vector is that which is searched with.
func TestEmbeddingBehindAHead(t *testing.T) {
	s, head := headed()
	e := s.engine(t)
	got, err := e.Embed(t.Context(), Caller{}, lookup.EmbedRequest{Expert: "H", Input: []string{askedOften}})
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := head.Apply(t.Context(), draw(s.encoders["A"].seed, askedOften))
	if !slices.Equal(got.Embeddings[0], want) {
		t.Errorf("%v, want %v", got.Embeddings[0], want)
	}
	info, err := e.Expert("H")
	if err != nil || strings.Join(info.Domains, " ") != "left right" {
		t.Errorf("%+v, %v", info.Domains, err)
	}
}
