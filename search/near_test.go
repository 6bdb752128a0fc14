package search

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// nearWords is a word index that scores nearness: by the length of a text, and by the question's last word.
type nearWords struct {
	*words
	expected []string
	broken   error
	mu       sync.Mutex
	scored   map[rank.Ordinal]int // how often, by passage
}

func (w *nearWords) near(question string, o rank.Ordinal) float32 {
	return float32(len(w.texts[o])%7 + strings.Count(w.texts[o], question[strings.LastIndex(question, " ")+1:]))
}

func (w *nearWords) ExpectNear(question string) { w.expected = append(w.expected, question) }

func (w *nearWords) NearScores(_ context.Context, question string, passages []rank.Ordinal, out []float32) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, o := range passages {
		out[i] = w.near(question, o)
		w.scored[o]++
	}
	return w.broken
}

func (w *nearWords) ExplainNear(_ context.Context, question string, o rank.Ordinal) ([]storage.TermScore, error) {
	return []storage.TermScore{storage.NearTerm("red", 1, w.near(question, o))}, nil
}

// nearStage has words that score nearness, which the gate gives 0.8 of their weight, and words 0.6 beside it.
func nearStage() (*stage, *nearWords) {
	s := newStage("ABC", 60)
	index := &nearWords{words: s.words, scored: map[rank.Ordinal]int{}}
	s.library.shelf.words = index
	gate := *s.config.Defaults.Gate
	gate.Near, gate.BesideNear = .8, .6
	s.config.Defaults.Gate = &gate
	return s, index
}

// TestNearIsTheGates: nearness takes part in the gate alone, scores what others found, and is explained. A gate
// without it, a collection that cannot score it, and a request without words have it neither.
func TestNearIsTheGates(t *testing.T) {
	s, index := nearStage()
	ask := Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), Explain: true}
	got := s.ask(t, ask)
	near, own := sourceOf(got, reply.NearSource), sourceOf(got, reply.WordSource)
	if near == nil || near.Kind != reply.KindLexical || near.Status != reply.StatusOK || near.Hits != 0 {
		t.Fatalf("the source is %+v", near)
	}
	if math.Abs(*near.Weight-*own.Weight*.8/.6) > 1e-9 || !slices.Contains(index.expected, askedOften) {
		t.Errorf("nearness weighs %v and words %v; expected %q", *near.Weight, *own.Weight, index.expected)
	}
	for _, r := range got.Results {
		at := slices.IndexFunc(r.Contributions, func(c reply.Contribution) bool { return c.Source == reply.NearSource })
		o, _, _ := s.library.shelf.Ordinal(t.Context(), r.ID)
		want := float64(index.near(askedOften, o))
		if at < 0 || *r.Contributions[at].Score != want || r.Contributions[at].Origin != "scored" {
			t.Fatalf("%s: contributions %+v: nearness scores it %v", r.ID, r.Contributions, want)
		}
		if last := r.Explanation[len(r.Explanation)-1]; !last.Near || last.Score != want {
			t.Errorf("%s: the last explained term is %+v, not nearness of %v", r.ID, last, want)
		}
	}
	s.library.shelf.words = index.words
	without := s.ask(t, ask)
	s.library.shelf.words = index
	s.config.Defaults.Gate.Near = 0
	off := s.ask(t, ask)
	if sourceOf(without, reply.NearSource) != nil || sourceOf(off, reply.NearSource) != nil ||
		!reflect.DeepEqual(without.Results, off.Results) || len(without.Degraded) != 0 {
		t.Error("a collection that cannot score nearness does not answer as a gate without it")
	}
	s.config.Defaults.Gate.Near = .8
	for _, method := range []string{fusion.MethodHybrid, fusion.MethodSum, fusion.MethodRRF, fusion.MethodMUF} {
		if sourceOf(s.ask(t, Request{Question: askedOften, Fusion: methodsOf(method)}), reply.NearSource) != nil {
			t.Errorf("%s asks for nearness", method)
		}
	}
	if r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), BM25: new(false)}); sourceOf(
		r, reply.NearSource) != nil {
		t.Error("a request without words asks for nearness")
	}
}

// TestBrokenNear: where nearness fails, the answer is that without it, and says so; words then count as without it.
func TestBrokenNear(t *testing.T) {
	s, index := nearStage()
	s.library.shelf.words = index.words
	want := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})
	s.library.shelf.words = index
	index.broken = errors.New("broken")
	got := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})
	if len(got.Degraded) != 1 || got.Degraded[0].Source != reply.NearSource ||
		!slices.Equal(ids(got.Results), ids(want.Results)) {
		t.Errorf("degraded %+v; found %v, want %v", got.Degraded, ids(got.Results), ids(want.Results))
	}
	for i := range got.Results {
		if got.Results[i].Score != want.Results[i].Score {
			t.Errorf("%s scores %v, without nearness %v", got.Results[i].ID, got.Results[i].Score, want.Results[i].Score)
		}
	}
}

// TestNearAtHand: where passages are at hand, so that nearness of what the words found is computed before the encoders
// have answered and sources score beside each other, the answer is the same, and no passage is scored twice.
func TestNearAtHand(t *testing.T) {
	s, index := nearStage()
	ask := Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), Explain: true, K: 20}
	want := s.ask(t, ask)
	once := index.scored
	index.scored = map[rank.Ordinal]int{}
	s.library.shelf.near = true
	got := s.ask(t, ask)
	if !reflect.DeepEqual(got.Results, want.Results) || !reflect.DeepEqual(got.Confidence, want.Confidence) {
		t.Errorf("at hand %+v, else %+v", got.Results, want.Results)
	}
	if len(once) == 0 || !reflect.DeepEqual(index.scored, once) {
		t.Errorf("at hand the passages are scored %v times, else %v", index.scored, once)
	}
	for o, n := range index.scored {
		if n != 1 {
			t.Errorf("passage %d is scored %d times", o, n)
		}
	}
}

// TestGatherNear: what is fitted on has a column of nearness with the served scores, and is fused to the served ranking
// to the bit.
func TestGatherNear(t *testing.T) {
	s, index := nearStage()
	s.config.Defaults.Gate.Dense = make([]float64, len(fusion.DenseFeatureNames())) // confidences are fitted later
	e := s.engine(t)
	found, err := e.Gather(context.Background(), Request{Question: askedOften}, 20)
	if err != nil {
		t.Fatal(err)
	}
	last := len(found.Sources) - 1
	if x := found.Sources[last]; x.Kind != fusion.Near || x.Name != reply.NearSource || len(x.Hits) != 0 {
		t.Fatalf("the last source is %+v", x)
	}
	found.Table.Each(fusion.Exact, func(row int, scores []float64) {
		if want := float64(index.near(askedOften, found.Table.Ordinal(row))); scores[last] != want {
			t.Errorf("passage %d: nearness scores %v, want %v", found.Table.Ordinal(row), scores[last], want)
		}
	})
	var observed []fusion.ObservedSource
	for _, x := range found.Sources {
		observed = append(observed, x.ObservedSource)
	}
	fused, err := fusion.Gated(found.Table, s.config.Defaults.Gate, observed, fusion.Exact, 10)
	if err != nil {
		t.Fatal(err)
	}
	served := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})
	for i, r := range served.Results {
		id := s.library.shelf.passages[fused.Items[i].Ordinal].ID
		if score := run.Printed(fused.Items[i].Score); id != r.ID || score != r.Score {
			t.Errorf("rank %d: %s with %v, served is %s with %v", i+1, id, score, r.ID, r.Score)
		}
	}
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestFuseAgainWithNear: a list with nearness that is fused again by another method has it among the gate's sources,
// not among the experts.
func TestFuseAgainWithNear(t *testing.T) {
	if kindNamed(reply.NearSource) != fusion.Near {
		t.Errorf("the kind of %s is %s", reply.NearSource, kindNamed(reply.NearSource))
	}
}
