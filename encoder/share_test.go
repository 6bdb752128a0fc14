package encoder

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"conclave/models"
	"conclave/models/tiny"
)

// pair opens a dense expert and a late one over the same layers.
func pair(t *testing.T, r *Runtime, o tiny.Options, options Options) (dense, late *Encoder) {
	t.Helper()
	o.Name, o.Late = "base", 0
	dense = open(t, r, bundle(t, o), options)
	o.Name, o.Late, o.EnsembleMembers = "tokens", 8, 0
	return dense, open(t, r, bundle(t, o), options)
}

func share(t *testing.T, dense, late *Encoder) {
	t.Helper()
	if shared, err := dense.Share(late); err != nil || !shared || !late.Carries() || dense.Carries() {
		t.Fatalf("shared %t, %v", shared, err)
	}
}

// TestSharedVectorsAreTheOwn: with and without sharing, of questions and of
// passages, alone and in one run.
func TestSharedVectorsAreTheOwn(t *testing.T) {
	r := library(t)
	for name, o := range map[string]tiny.Options{
		"mean": {}, "int8": {Int8: true}, "cls": {Pooling: models.PoolingCLS}, "pooler": {Pooling: models.PoolingPooler, Template: models.TemplatePair},
	} {
		t.Run(name, func(t *testing.T) {
			ownDense, ownLate := pair(t, r, o, Options{})
			dense, late := pair(t, r, o, Options{})
			share(t, dense, late)
			random := rand.New(rand.NewPCG(5, 5))
			var texts []Text
			for i := range 30 {
				text := someQuestion(random, i%15)
				texts = append(texts, Text{Title: []string{"", "a river"}[i%2], Text: text})
				for _, e := range [][2]*Encoder{{dense, ownDense}, {late, ownLate}} {
					if far := furthest(question(t, e[0], text), question(t, e[1], text)); far > 1e-5 {
						t.Errorf("%s: the question %q is %g from its own", e[0].Name(), text, far)
					}
				}
			}
			tokens, vectors, err := late.EncodePassagesBoth(t.Context(), texts)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				e   *Encoder
				got [][]float32
			}{{ownDense, vectors}, {ownLate, tokens}, {ownDense, passages(t, dense, texts...)}, {ownLate, passages(t, late, texts...)}} {
				for i, want := range passages(t, c.e, texts...) {
					if far := furthest(c.got[i], want); far > 1e-5 {
						t.Errorf("%s: passage %d is %g from its own", c.e.Name(), i, far)
					}
				}
			}
		})
	}
}

// TestOneRunServesBoth: whoever asks second gets what the first one's run gave,
// in memory of its own.
func TestOneRunServesBoth(t *testing.T) {
	dense, late := pair(t, library(t), tiny.Options{}, Options{CacheEntries: 4})
	share(t, dense, late)
	const text = "who knows the river?"
	first := question(t, dense, text)
	kept := slices.Clone(first)
	first[0] = 9
	question(t, late, text)[0] = 9
	if again := question(t, dense, text); !slices.Equal(again, kept) {
		t.Errorf("%v, and before %v", again, kept)
	}
	if s := late.Stats(); s.QuestionRows != 1 || s.Hits != 2 || s != dense.Stats() {
		t.Errorf("stats %+v and %+v", s, dense.Stats())
	}
	// As many as may be cached are: the vectors of both count.
	for i := range 4 {
		question(t, dense, someQuestion(rand.New(rand.NewPCG(1, uint64(i))), 8))
	}
	if s := late.Stats(); s.Cached != 4 {
		t.Errorf("%d questions of 9 words are cached, not 4", s.Cached)
	}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			e := []*Encoder{dense, late}[i%2]
			if _, err := e.EncodeQuestion(t.Context(), someQuestion(rand.New(rand.NewPCG(2, uint64(i/2))), 9)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if s := late.Stats(); s.QuestionRows > 5+40 || s.QuestionRows < 5+20 {
		t.Errorf("%d rows", s.QuestionRows)
	}
}

// TestWhoDoesNotShare keeps the own graph.
func TestWhoDoesNotShare(t *testing.T) {
	r := library(t)
	late := open(t, r, bundle(t, tiny.Options{Late: 8}), Options{})
	for name, o := range map[string]tiny.Options{
		"other weights":   {Seed: 1},
		"other pooling":   {Pooling: models.PoolingCLS},
		"other precision": {Int8: true},
		"other template":  {Template: models.TemplatePair},
		"other limit":     {MaxTokens: models.MaxTokens{Question: 60}},
		"other tokens":    {Vocabulary: append(tiny.Vocabulary(), "conclave")},
		"two towers":      {TwoTowers: true},
		"other dimension": {Dimension: 48},
		"late too":        {Late: 8},
	} {
		e := open(t, r, bundle(t, o), Options{})
		before := question(t, e, "a story")
		if shared, err := e.Share(late); shared || err != nil {
			t.Errorf("%s: shared %t, %v", name, shared, err)
		}
		if after := question(t, e, "a story"); furthest(after, before) > 1e-6 || late.Carries() {
			t.Errorf("%s: something changed", name)
		}
	}
	if shared, err := open(t, r, bundle(t, tiny.Options{}), Options{Threads: 1, Queue: 7}).Share(late); shared || err != nil {
		t.Errorf("other options: shared %t, %v", shared, err)
	}
	if _, _, err := late.EncodePassagesBoth(t.Context(), []Text{{Text: "a story"}}); err == nil {
		t.Error("both vectors without sharing")
	}
	dense := open(t, r, bundle(t, tiny.Options{}), Options{})
	share(t, dense, late)
	// One is enough, and once.
	for _, e := range []*Encoder{open(t, r, bundle(t, tiny.Options{}), Options{}), dense} {
		if shared, err := e.Share(late); shared || err != nil {
			t.Errorf("a second time: %t, %v", shared, err)
		}
	}
}

// TestClosingOneOfTwo leaves the other whole, in either order.
func TestClosingOneOfTwo(t *testing.T) {
	r := library(t)
	for first := range 2 {
		dense, late := pair(t, r, tiny.Options{EnsembleMembers: 3}, Options{})
		share(t, dense, late)
		both := []*Encoder{dense, late}
		want := question(t, both[1-first], "a story")
		if err := both[first].Close(); err != nil {
			t.Fatal(err)
		}
		if got := question(t, both[1-first], "a story"); furthest(got, want) > 1e-6 {
			t.Errorf("%s is another one when %s has closed", both[1-first].Name(), both[first].Name())
		}
		if err := both[1-first].Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := both[1-first].EncodeQuestion(t.Context(), "another story"); err == nil {
			t.Error("it answers when both have closed")
		}
	}
}
