package bm25

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/conclave/internal/rank"
)

var paramsToTry = []Params{
	DefaultParams(),
	{K1: 1.2, B: 0.75},
	{K1: 0, B: 0},
	{K1: 0.9, B: 1},
	{K1: 3, B: 0},
}

// TestSearchAgainstFormula searches random collections of several windows.
func TestSearchAgainstFormula(t *testing.T) {
	for i, params := range paramsToTry {
		rng := rand.New(rand.NewPCG(11, uint64(i)))
		const vocabulary = 400
		passages := randomPassages(rng, 2000+i*3000, vocabulary)
		x := build(t, params, passages)
		if err := x.check(); err != nil {
			t.Fatal(err)
		}
		oracle := newNaive(params, passages)
		for range 25 {
			question := randomQuestion(rng, vocabulary)
			k := []int{1, 3, 10, 100, 5000, 1 << 40}[rng.IntN(6)]
			hits, err := x.Search(t.Context(), question, k)
			if err != nil {
				t.Fatal(err)
			}
			oracle.checkHits(t, question, k, hits)
		}
	}
}

// TestScoresTooSmall: a passage so long, or a k1 so large, that 32 bits make its
// score 0 is a hit all the same.
func TestScoresTooSmall(t *testing.T) {
	passages := []goldenPassage{{Text: "windmill dog " + strings.Repeat("cat ", 3000)}}
	for range 400 {
		passages = append(passages, goldenPassage{Text: "dog"})
	}
	x := build(t, Params{K1: 1e6, B: 1}, passages)
	for question, want := range map[string]int{"windmill": 1, "dog": 401} {
		hits, err := x.Search(t.Context(), question, 1000)
		if err != nil || len(hits) != want {
			t.Errorf("%s: %d hits, %v", question, len(hits), err)
		}
		if matched, err := x.alone().matched(t.Context(), question); err != nil || matched != want {
			t.Errorf("%s: %d matched, %v", question, matched, err)
		}
	}
	if hits, err := x.Search(t.Context(), "windmill", 1); err != nil || hits[0].Score != 0 {
		t.Errorf("the test is to have a score of 0: %v, %v", hits, err)
	}
}

func TestScoresOfAnyPassages(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 0))
	passages := randomPassages(rng, 3000, 100)
	x := build(t, DefaultParams(), passages)
	oracle := newNaive(DefaultParams(), passages)
	for range 10 {
		question := randomQuestion(rng, 100)
		want := oracle.scores(question)
		ordinals := make([]rank.Ordinal, 500)
		for i := range ordinals {
			ordinals[i] = rank.Ordinal(rng.IntN(len(passages))) // any order, with repetitions
		}
		got := make([]float32, len(ordinals))
		if err := x.Scores(question, ordinals, got); err != nil {
			t.Fatal(err)
		}
		for i, o := range ordinals {
			w := want[o]
			if w != w {
				w = 0
			}
			if d := float64(got[i]) - w; d > 2e-6*w || d < -2e-6*w {
				t.Fatalf("%q: passage %d scores %v, by the formula %v", question, o, got[i], w)
			}
		}
	}
	if err := x.Scores("w1", make([]rank.Ordinal, 2), make([]float32, 3)); err == nil {
		t.Error("room for another number of scores was accepted")
	}
	if err := x.Scores("w1", []rank.Ordinal{3000}, make([]float32, 1)); !errors.Is(err, errNoPassage) {
		t.Errorf("a passage beyond the end: %v", err)
	}
}

func TestNothingToFind(t *testing.T) {
	for name, passages := range map[string][]goldenPassage{
		"no passages":         nil,
		"an empty passage":    {{}},
		"only stop words":     {{Text: "the and of"}, {Text: "to"}},
		"one passage, a word": {{Text: "windmill"}},
	} {
		x := build(t, DefaultParams(), passages)
		if err := x.check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, question := range []string{"", "the", "dog", "\xff"} {
			hits, err := x.Search(t.Context(), question, 10)
			if err != nil || len(hits) > 0 {
				t.Errorf("%s, question %q: %v, %v", name, question, hits, err)
			}
		}
		for _, k := range []int{0, -1} {
			if _, err := x.Search(t.Context(), "windmill", k); err == nil {
				t.Errorf("%s: k %d was accepted", name, k)
			}
		}
	}
	s, err := NewSearcher()
	if err != nil {
		t.Fatal(err)
	}
	if hits, err := s.Search(t.Context(), "windmill", 3, nil); err != nil || len(hits) > 0 {
		t.Errorf("without segments: %v, %v", hits, err)
	}
}

func TestSearchEndsWithItsContext(t *testing.T) {
	passages := make([]goldenPassage, window+1)
	for i := range passages {
		passages[i].Text = "windmill"
	}
	x := build(t, DefaultParams(), passages)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := x.Search(ctx, "windmill", 3); !errors.Is(err, cause) {
		t.Errorf("a search of a caller who has gone: %v", err)
	}
	if _, err := x.alone().matched(ctx, "windmill"); !errors.Is(err, cause) {
		t.Errorf("a count of a caller who has gone: %v", err)
	}
	// One that ends while it is searching: the context reports it at the second look.
	late := &lateContext{Context: t.Context(), looks: 1}
	if _, err := x.Search(late, "windmill", 3); !errors.Is(err, context.Canceled) {
		t.Errorf("a search of a caller who goes: %v", err)
	}
}

// lateContext is cancelled after a number of looks at it.
type lateContext struct {
	context.Context
	looks int
}

func (c *lateContext) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// TestConcurrentSearches: many at once, with deleted passages to be counted, give what one after the other gives by a
// searcher that was asked nothing before; so does nearness, which the searcher keeps from one to the next.
func TestConcurrentSearches(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 0))
	passages := randomPassages(rng, 2000, 100)
	x := build(t, DefaultParams(), passages)
	deleted := make([]uint64, 10)
	for i := range deleted {
		deleted[i] = rng.Uint64()
	}
	questions := make([]string, 40)
	want := make([][]rank.Hit, len(questions))
	near := make([]float32, len(questions))
	for i := range questions {
		questions[i] = randomQuestion(rng, 100)
	}
	text := []byte(strings.Join(questions, " "))
	nearness := func(s *Searcher, question string) float32 {
		n, err := s.Nearness(question)
		if err != nil {
			t.Error(err)
			return -1
		}
		defer s.KeepNearness(n)
		return n.Score(nil, text)
	}
	for i := range questions {
		s, err := NewSearcher(Segment{Index: x, Deleted: deleted})
		if err != nil {
			t.Fatal(err)
		}
		want[i], err = s.Search(t.Context(), questions[i], 20, nil)
		if err != nil {
			t.Fatal(err)
		}
		near[i] = nearness(s, questions[i])
	}
	s, err := NewSearcher(Segment{Index: x, Deleted: deleted})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i, question := range questions {
				hits, err := s.Search(t.Context(), question, 20, nil)
				if err != nil || !slices.Equal(hits, want[i]) {
					t.Errorf("%q: %v, %v, alone %v", question, hits, err, want[i])
				}
				if got := nearness(s, question); got != near[i] {
					t.Errorf("%q: the nearness is %v, alone %v", question, got, near[i])
				}
			}
		})
	}
	group.Wait()
}

// TestAllocations: a search's allocations do not grow with the postings.
func TestAllocations(t *testing.T) {
	measure := func(n int) float64 {
		passages := make([]goldenPassage, n)
		for i := range passages {
			passages[i].Text = fmt.Sprintf("windmill %s dog", strings.Repeat("cat ", i%7))
		}
		x := build(t, DefaultParams(), passages)
		return testing.AllocsPerRun(20, func() {
			if _, err := x.Search(t.Context(), "a windmill for cats and dogs", 10); err != nil {
				t.Fatal(err)
			}
		})
	}
	if small, large := measure(100), measure(30_000); large > small+5 {
		t.Errorf("%v allocations with 100 passages, %v with 30,000", small, large)
	}
}

// TestPruning: bounds leave most of the frequent words' postings unread when
// rare words decide.
func TestPruning(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 0))
	b := NewBuilder(DefaultParams())
	for range 60_000 {
		text := "common plain"
		if rng.IntN(600) == 0 {
			text += " rare"
		}
		if err := b.Add("", text); err != nil {
			t.Fatal(err)
		}
	}
	x := write(t, b)
	_, stats, err := x.alone().search(t.Context(), "rare common plain", 10, nil)
	if err != nil {
		t.Fatal(err)
	}
	if stats.decoded > stats.postings/2 || stats.terms != 3 || stats.windows+stats.skipped != 15 {
		t.Errorf("%+v", stats)
	}
}
