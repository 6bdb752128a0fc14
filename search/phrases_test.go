package search

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/search/reply"
)

// phraseStage has phrases beside its words, which the gate gives half their
// weight.
func phraseStage() *stage {
	s := newStage("ABC", 60)
	s.library.shelf.phrases = &words{texts: s.words.texts, pairs: true}
	gate := *s.config.Defaults.Gate
	gate.Phrases = .5
	s.config.Defaults.Gate = &gate
	return s
}

// sourceOf returns the source of a name, or nil.
func sourceOf(r reply.Response, name string) *reply.Source {
	for i := range r.Sources {
		if r.Sources[i].Name == name {
			return &r.Sources[i]
		}
	}
	return nil
}

// TestPhrasesAreTheGates: they take part in the gate, with their share of the
// words' weight, and in no other method.
func TestPhrasesAreTheGates(t *testing.T) {
	s := phraseStage()
	got := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), Explain: true})
	phrases, own := sourceOf(got, reply.PhraseSource), sourceOf(got, reply.WordSource)
	if phrases == nil || phrases.Kind != "lexical" || phrases.Status != reply.StatusOK || phrases.Hits == 0 {
		t.Fatalf("the source of phrases is %+v", phrases)
	}
	if math.Abs(*phrases.Weight-*own.Weight/2) > 1e-9 {
		t.Errorf("phrases weigh %v and words %v: half was asked for", *phrases.Weight, *own.Weight)
	}
	index := s.library.shelf.phrases.(*words)
	for _, r := range got.Results {
		at := slices.IndexFunc(
			r.Contributions, func(c reply.Contribution) bool { return c.Source == reply.PhraseSource },
		)
		o, _, _ := s.library.shelf.Ordinal(t.Context(), r.ID)
		want := float64(index.score(askedOften, o))
		if at < 0 || *r.Contributions[at].Score != want {
			t.Fatalf("%s: contributions %+v: phrases score it %v", r.ID, r.Contributions, want)
		}
		explained := 0.0
		for _, term := range r.Explanation {
			if slices.Contains(index.terms(askedOften), term.Term) {
				explained += term.Score
			}
		}
		if explained != want {
			t.Errorf("%s: the phrases explained add up to %v, not %v: %+v", r.ID, explained, want, r.Explanation)
		}
	}
	for _, method := range []string{fusion.MethodHybrid, fusion.MethodSum, fusion.MethodRRF, fusion.MethodMUF} {
		r := Request{Question: askedOften, Fusion: methodsOf(method)}
		with := s.ask(t, r)
		s.library.shelf.phrases = nil
		without := s.ask(t, r)
		s.library.shelf.phrases = index
		if sourceOf(with, reply.PhraseSource) != nil || !reflect.DeepEqual(with.Results, without.Results) {
			t.Errorf("%s: phrases change it", method)
		}
	}
}

// TestPhrasesBesideOthers: in a list of methods, and in a comparison, every
// method answers as it would alone.
func TestPhrasesBesideOthers(t *testing.T) {
	s := phraseStage()
	gate := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})
	rrf := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodRRF)})
	both := s.ask(
		t,
		Request{
			Question: askedOften,
			Fusion:   Methods{Names: []string{fusion.MethodGate, fusion.MethodRRF}, Listed: true},
		},
	)
	if !reflect.DeepEqual(both.Rankings[0].Results, gate.Results) {
		t.Error("the gate in a list answers otherwise than alone")
	}
	if !slices.Equal(ids(both.Rankings[1].Results), ids(rrf.Results)) {
		t.Errorf("rrf in a list finds %v, alone %v", ids(both.Rankings[1].Results), ids(rrf.Results))
	}
	e := s.engine(t)
	no := false
	compared, err := e.Compare(context.Background(), []Request{
		{Question: askedOften, Fusion: methodsOf(fusion.MethodRRF)},
		{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)},
		{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), BM25: &no},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ids(compared[0].Results), ids(rrf.Results)) ||
		!slices.Equal(ids(compared[1].Results), ids(gate.Results)) {
		t.Error("compared, methods answer otherwise than alone")
	}
	if sourceOf(compared[0], reply.PhraseSource) != nil || sourceOf(compared[1], reply.PhraseSource) == nil ||
		sourceOf(compared[2], reply.PhraseSource) != nil {
		t.Error("phrases are among the sources of the wrong methods")
	}
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestWithoutPhrases: a collection that has none, a gate that gives them no
// weight, and an index of phrases that fails.
func TestWithoutPhrases(t *testing.T) {
	s := phraseStage()
	index := s.library.shelf.phrases
	s.library.shelf.phrases = nil
	none := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})
	if sourceOf(none, reply.PhraseSource) != nil || len(none.Degraded) != 0 {
		t.Errorf("without phrases: sources %+v, degraded %+v", none.Sources, none.Degraded)
	}
	s.library.shelf.phrases = &words{
		texts: s.words.texts,
		pairs: true,
		hook:  func(context.Context) error { return errors.New("broken") },
	}
	broken := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})
	if len(broken.Degraded) != 1 || broken.Degraded[0].Source != reply.PhraseSource ||
		!slices.Equal(ids(broken.Results), ids(none.Results)) {
		t.Errorf(
			"with broken phrases %v, degraded %+v; without them %v",
			ids(broken.Results),
			broken.Degraded,
			ids(none.Results),
		)
	}
	s.library.shelf.phrases = index
	s.config.Defaults.Gate.Phrases = 0
	old := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})
	if sourceOf(old, reply.PhraseSource) != nil {
		t.Error("a gate without phrases asks for them")
	}
}

// TestPhrasesAreNotWeighted: the error says why, not that there is no such source.
func TestPhrasesAreNotWeighted(t *testing.T) {
	e := phraseStage().engine(t)
	_, err := e.Search(
		context.Background(), Caller{},
		Request{
			Question: askedOften,
			Fusion:   methodsOf(fusion.MethodSum),
			Weights:  map[string]float64{reply.PhraseSource: 1},
		},
	)
	if err == nil || !strings.Contains(err.Error(), "gate alone") {
		t.Errorf("phrases are weighted: %v", err)
	}
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestGatherPhrases: what is fitted on has their column, after BM25's.
func TestGatherPhrases(t *testing.T) {
	s := phraseStage()
	e := s.engine(t)
	found, err := e.Gather(context.Background(), Request{Question: askedOften}, 20)
	if err != nil {
		t.Fatal(err)
	}
	last := len(found.Sources) - 1
	if x := found.Sources[last]; x.Kind != fusion.Phrases || x.Name != reply.PhraseSource ||
		found.Sources[last-1].Kind != fusion.Lexical {
		t.Fatalf("the last source is %+v", x)
	}
	index := s.library.shelf.phrases.(*words)
	found.Table.Each(fusion.Exact, func(row int, scores []float64) {
		if want := float64(index.score(askedOften, found.Table.Ordinal(row))); scores[last] != want {
			t.Errorf("passage %d: phrases score %v, want %v", found.Table.Ordinal(row), scores[last], want)
		}
	})
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
