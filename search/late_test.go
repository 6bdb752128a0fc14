package search

import (
	"context"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
)

// maxima is late interaction over passages of two tokens each: exact, and only
// ever asked for scores.
type maxima struct {
	tokens [][][]float32 // of each passage
	fail   bool
}

func (m *maxima) Search(context.Context, []float32, int, bool) ([]rank.Hit, error) {
	return nil, errors.New("late interaction was asked to search")
}

func (m *maxima) Scores(_ context.Context, query []float32, passages []rank.Ordinal, out []float32) error {
	for i, o := range passages {
		out[i] = m.score(query, o)
	}
	return nil
}

func (m *maxima) score(query []float32, o rank.Ordinal) (sum float32) {
	if m.fail {
		return float32(math.NaN())
	}
	for ; len(query) > 0; query = query[dimension:] {
		best := float32(math.Inf(-1))
		for _, token := range m.tokens[o] {
			best = max(best, product(query[:dimension], token))
		}
		sum += best
	}
	return sum
}

// wordwise encodes a question as a vector for each of its words.
type wordwise struct{ hook func() error }

func (w *wordwise) EncodeQuestion(_ context.Context, text string) (out []float32, err error) {
	if w.hook != nil {
		if err := w.hook(); err != nil {
			return nil, err
		}
	}
	for _, word := range strings.Fields(text) {
		out = append(out, draw(77, word)...)
	}
	return out, nil
}

func (*wordwise) QuestionTokens(string) (int, bool) { return 0, false }

func (*wordwise) PassageTokens(corpus.Passage) (int, bool) { return 0, false }

func (*wordwise) KnownWords(string) (words, whole, unknown int) { return 0, 0, 0 }

func (*wordwise) Readable(string) float64 { return 1 }

// lateStage returns a stage whose gate weighs late interaction.
func lateStage() (*stage, *maxima, *wordwise) { return lateStageOf(60) }

// lateStageOf returns it with so many passages.
func lateStageOf(passages int) (*stage, *maxima, *wordwise) {
	s := newStage("ABC", passages)
	index := &maxima{}
	encoder := &wordwise{}
	for _, p := range s.library.shelf.passages {
		index.tokens = append(index.tokens, [][]float32{draw(5, p.ID), draw(6, p.ID)})
	}
	s.library.shelf.vectors["tokens"] = index
	s.config.Late = []learned.Expert{{Name: "tokens", Encoder: encoder, Info: learned.ExpertInfo{Dimension: dimension}}}
	gate := *s.config.Defaults.Gate
	gate.Late = make([]float64, len(fusion.LateFeatureNames()))
	gate.Tokens = math.Log(2)
	s.config.Defaults.Gate = &gate
	return s, index, encoder
}

// TestLateScoresWhatOthersFound: it takes part in the gate with its weight, its
// scores are its own, contributions add up, and no passage is there that nobody
// else found.
func TestLateScoresWhatOthersFound(t *testing.T) {
	s, index, encoder := lateStage()
	request := Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), Candidates: 3, K: 20}
	got := s.ask(t, request)
	late := sourceOf(got, "tokens")
	if late == nil || late.Kind != reply.KindLate || late.Status != reply.StatusOK || late.Hits != 0 ||
		math.Abs(*late.Weight-2) > 1e-6 {
		t.Fatalf("the source is %+v", late)
	}
	query, _ := encoder.EncodeQuestion(context.Background(), askedOften)
	for _, r := range got.Results {
		o, _, _ := s.library.shelf.Ordinal(t.Context(), r.ID)
		found, sum := false, 0.0
		for _, c := range r.Contributions {
			sum += c.Contribution
			found = found || c.Rank != nil
			if c.Source == "tokens" &&
				(c.Rank != nil || c.Origin != "scored" || math.Abs(*c.Score-float64(index.score(query, o))) > 1e-6) {
				t.Errorf("%s: %+v, want the score %v", r.ID, c, index.score(query, o))
			}
		}
		if !found || math.Abs(sum-r.Score) > 1e-6 {
			t.Errorf("%s: found %t, contributions add up to %v, score %v", r.ID, found, sum, r.Score)
		}
	}
	s.config.Late = nil
	without := s.ask(t, request)
	a := slices.Sorted(slices.Values(ids(got.Results)))
	b := slices.Sorted(slices.Values(ids(without.Results)))
	if !slices.Equal(a, b) {
		t.Errorf("the candidates are %v, without late interaction %v", a, b)
	}
	if slices.Equal(ids(got.Results), ids(without.Results)) {
		t.Error("the order is the same with late interaction and without")
	}
}

// TestLateIsTheGates: other methods answer as if it were not there, "late": false
// leaves it out, and it cannot be asked by name.
func TestLateIsTheGates(t *testing.T) {
	s, _, _ := lateStage()
	no := false
	for _, r := range []Request{
		{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), Late: &no},
		{Question: askedOften, Fusion: methodsOf(fusion.MethodHybrid)},
		{Question: askedOften, Fusion: methodsOf(fusion.MethodSum)},
		{Question: askedOften, Fusion: methodsOf(fusion.MethodRRF)},
		{Question: askedOften, Fusion: methodsOf(fusion.MethodMUF)},
	} {
		with := s.ask(t, r)
		late := s.config.Late
		s.config.Late = nil
		without := s.ask(t, r)
		s.config.Late = late
		if sourceOf(with, "tokens") != nil || !reflect.DeepEqual(with.Results, without.Results) {
			t.Errorf("%v: late interaction changes it", r.Fusion)
		}
	}
	for _, r := range []Request{
		{Question: askedOften, Experts: &[]string{"A", "tokens"}},
		{Question: askedOften, Fusion: methodsOf(fusion.MethodSum), Weights: map[string]float64{"tokens": 1}},
	} {
		if e := s.refused(t, r); !strings.Contains(e.Error(), "gate") {
			t.Errorf("refused with %v", e)
		}
	}
	e, err := NewEngine(s.config)
	if err != nil {
		t.Fatal(err)
	}
	request := lookup.EmbedRequest{Expert: "tokens", Input: []string{"a"}}
	if _, err := e.Embed(context.Background(), Caller{}, request); err == nil ||
		!strings.Contains(err.Error(), "every token") {
		t.Errorf("a vector of a text: %v", err)
	}
	s.config.Defaults.Chances = &sure{first: .7, any: .8}
	s.config.Defaults.GateWithoutLate = s.config.Defaults.Gate
	sceptical := Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), MinConfidence: .5}
	if got := s.ask(t, sceptical); got.Abstained {
		t.Error("an answer that is sure enough abstains")
	}
	sceptical.Late = &no
	if e := s.refused(t, sceptical); !strings.Contains(e.Error(), "not calibrated") {
		t.Errorf("refused with %v", e)
	}
	gate := *s.config.Defaults.Gate
	gate.Late = nil // fitted without it
	s.config.Defaults.Gate = &gate
	if r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)}); sourceOf(
		r, "tokens",
	) != nil {
		t.Error("a gate that does not know of late interaction asks it")
	}
}

// TestLateBesideOthers: in a list and in a comparison the gate answers as alone,
// also where other methods ask for more experts than it weighs, and without
// words.
func TestLateBesideOthers(t *testing.T) {
	for _, words := range []bool{true, false} {
		s, _, _ := lateStage()
		s.library.shelf.phrases = &words2{s.words}
		s.config.Defaults.Gate.Late = []float64{
			.1,
			.2,
			.3,
			.4,
			.5,
			.6,
			.1,
			.2,
		} // so that candidates of others would show
		s.config.Experts[1].Representatives = draw(1, "b")
		s.config.Experts[2].Representatives = draw(1, "c")
		s.config.Defaults.Specialists = 1
		alone := s.ask(
			t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), BM25: &words, Candidates: 4, K: 5},
		)
		list := s.ask(
			t,
			Request{
				Question:   askedOften,
				Fusion:     Methods{Names: []string{fusion.MethodSum, fusion.MethodGate}, Listed: true},
				BM25:       &words,
				Candidates: 4,
				K:          5,
			},
		)
		if got := list.Rankings[1].Results; !slices.Equal(ids(got), ids(alone.Results)) ||
			got[0].Score != alone.Results[0].Score {
			t.Errorf("words %t: in a list %v, alone %v", words, ids(got), ids(alone.Results))
		}
	}
}

// words2 is phrases that find what words find.
type words2 struct{ *words }

// TestLateThatFails: it is left out and named, whether encoding fails, or the
// scores, or the collection has nothing of it; the rest answers as without it, by
// the gate for that, whose answers have no calibrated confidence.
func TestLateThatFails(t *testing.T) {
	for name, spoil := range map[string]func(s *stage, index *maxima, encoder *wordwise){
		"encoding": func(_ *stage, _ *maxima, encoder *wordwise) {
			encoder.hook = func() error { return errors.New("gone") }
		},
		"scores": func(_ *stage, index *maxima, _ *wordwise) { index.fail = true },
		"no vectors": func(s *stage, _ *maxima, _ *wordwise) {
			delete(s.library.shelf.vectors, "tokens")
		},
	} {
		s, index, encoder := lateStage()
		other := *s.config.Defaults.Gate
		other.Late = nil
		other.Words = -1
		s.config.Defaults.GateWithoutLate = &other
		s.config.Defaults.Chances = &sure{first: .7, any: .8}
		whole := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})
		if whole.Confidence == nil {
			t.Errorf("%s: there is no confidence while everything answers", name)
		}
		spoil(s, index, encoder)
		r := Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)}
		got := s.ask(t, r)
		ratio := *sourceOf(got, reply.WordSource).Weight / *sourceOf(whole, reply.WordSource).Weight
		if want := math.Exp(other.Words - s.config.Defaults.Gate.Words); math.Abs(ratio-want) > 1e-6 ||
			got.Confidence != nil {
			t.Errorf(
				"%s: words weigh %v of what they did, want %v; the confidence is %v", name, ratio, want, got.Confidence,
			)
		}
		s.config.Late = nil
		without := s.ask(t, r)
		if len(got.Degraded) != 1 || got.Degraded[0].Source != "tokens" ||
			!slices.Equal(ids(got.Results), ids(without.Results)) {
			t.Errorf(
				"%s: degraded %+v, results %v, without %v", name, got.Degraded, ids(got.Results), ids(without.Results),
			)
		}
	}
}

// TestLateEvidence: what is gathered has its scores, and what fails is an error.
func TestLateEvidence(t *testing.T) {
	s, index, encoder := lateStage()
	e, err := NewEngine(s.config)
	if err != nil {
		t.Fatal(err)
	}
	found, err := e.Gather(context.Background(), Request{Question: askedOften}, 5)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(found.Sources, func(s SourceEvidence) bool { return s.Kind == fusion.Late })
	if at < 0 || found.Sources[at].Name != "tokens" || len(found.Sources[at].Hits) != 0 {
		t.Fatalf("sources %+v", found.Sources)
	}
	query, _ := encoder.EncodeQuestion(context.Background(), askedOften)
	found.Table.Each(fusion.Exact, func(row int, scores []float64) {
		if want := index.score(query, found.Table.Ordinal(row)); scores[at] != float64(want) {
			t.Errorf("row %d: %v, want %v", row, scores[at], want)
		}
	})
	index.fail = true
	if _, err := e.Gather(context.Background(), Request{Question: askedOften}, 5); err == nil {
		t.Error("scores that failed were gathered")
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestLateConfiguration: names and encoders.
func TestLateConfiguration(t *testing.T) {
	for name, x := range map[string]learned.Expert{
		"no name": {Encoder: &wordwise{}}, "an expert's": {Name: "A", Encoder: &wordwise{}},
		"BM25's": {Name: reply.WordSource, Encoder: &wordwise{}}, "no encoder": {Name: "tokens"},
	} {
		s := newStage("AB", 10)
		s.config.Late = []learned.Expert{x}
		if _, err := NewEngine(s.config); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestLateIsNotLeft: where all that search fail, late interaction has nothing to score, and
// the answer is an error, whatever they failed of, as without it.
func TestLateIsNotLeft(t *testing.T) {
	for name, c := range map[string]struct {
		cause error
		kind  fault.ErrorKind
	}{
		"broken": {io.EOF, fault.Unavailable},
		"late":   {context.DeadlineExceeded, fault.Deadline},
		"full":   {full{}, fault.Overloaded},
	} {
		s, _, _ := lateStage()
		hook := func(context.Context) error { return c.cause }
		for _, e := range s.encoders {
			e.hook = hook
		}
		s.words.hook = hook
		if e := s.refused(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)}); e.Kind != c.kind ||
			strings.Contains(e.Detail, "tokens: ") {
			t.Errorf("%s: kind %d, %q; want kind %d of those that failed", name, e.Kind, e.Detail, c.kind)
		}
	}
}
