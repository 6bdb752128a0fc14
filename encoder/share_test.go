package encoder

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert/tiny"
)

// openAll opens bundles together.
func openAll(t *testing.T, r *Runtime, options Running, bundles ...*models.Bundle) (all []*Encoder) {
	t.Helper()
	var wanted []Opening
	for _, b := range bundles {
		wanted = append(wanted, Opening{b, options})
	}
	all, errs := r.OpenAll(wanted)
	for i, e := range all {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return all
}

// pair writes a dense expert and a late one over the same layers.
func pair(t *testing.T, o tiny.Expert) (dense, late *models.Bundle) {
	t.Helper()
	o.Name, o.Late = "base", 0
	dense = bundle(t, o)
	o.Name, o.Late, o.EnsembleMembers = "tokens", 8, 0
	return dense, bundle(t, o)
}

// shared opens a pair together.
func shared(t *testing.T, r *Runtime, o tiny.Expert, options Running) (dense, late *Encoder) {
	t.Helper()
	a, b := pair(t, o)
	both := openAll(t, r, options, a, b)
	dense, late = both[0], both[1]
	if late.Carried() != dense || dense.Carried() != nil {
		t.Fatal("they do not share their runs")
	}
	return dense, late
}

// TestSharedVectorsAreTheOwn: with and without sharing, of questions and of
// passages, alone and in one run.
func TestSharedVectorsAreTheOwn(t *testing.T) {
	r := library(t)
	for name, o := range map[string]tiny.Expert{
		"mean": {}, "int8": {Int8: true}, "cls": {Pooling: models.PoolingCLS},
		"pooler": {Pooling: models.PoolingPooler, Template: models.TemplatePair},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t, o)
			ownDense, ownLate := open(t, r, a, Running{}), open(t, r, b, Running{})
			dense, late := shared(t, r, o, Running{})
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
			tokens, vectors, _, err := late.ReadPassagesBoth(t.Context(), texts)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				e   *Encoder
				got [][]float32
			}{{ownDense, vectors}, {ownLate, tokens}, {ownDense, passages(t, dense, texts...)},
				{ownLate, passages(t, late, texts...)}} {
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
	dense, late := shared(t, library(t), tiny.Expert{}, Running{CacheEntries: 4})
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
	late := bundle(t, tiny.Expert{Late: 8})
	for name, o := range map[string]tiny.Expert{
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
		b := bundle(t, o)
		both := openAll(t, r, Running{}, b, late)
		if both[0].Carried() != nil || both[1].Carried() != nil {
			t.Errorf("%s: they share their runs", name)
		}
		alone := open(t, r, b, Running{})
		if far := furthest(question(t, both[0], "a story"), question(t, alone, "a story")); far > 1e-6 {
			t.Errorf("%s: beside another it is %g from its own", name, far)
		}
		if _, _, _, err := both[1].ReadPassagesBoth(t.Context(), []Text{{Text: "a story"}}); err == nil {
			t.Errorf("%s: both vectors without sharing", name)
		}
	}
	both, errs := r.OpenAll(
		[]Opening{
			{bundle(t, tiny.Expert{}), Running{Threads: 1, Queue: 7}},
			{late, Running{}},
			{Running: Running{Threads: -1}, Bundle: late},
		},
	)
	if both[1].Carried() != nil || errs[0] != nil || errs[1] != nil || errs[2] == nil || both[2] != nil {
		t.Errorf("other options: %v", errs)
	}
	for _, e := range both[:2] {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	// One late encoder carries one, and is carried by none.
	three := openAll(t, r, Running{}, bundle(t, tiny.Expert{}), bundle(t, tiny.Expert{}), late)
	if three[2].Carried() != three[0] || three[0].Carried() != nil || three[1].Carried() != nil {
		t.Error("a late encoder carries another than the first")
	}
}

// TestClosingOneOfTwo leaves the other whole, in either order.
func TestClosingOneOfTwo(t *testing.T) {
	r := library(t)
	for first := range 2 {
		dense, late := shared(t, r, tiny.Expert{EnsembleMembers: 3}, Running{})
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
