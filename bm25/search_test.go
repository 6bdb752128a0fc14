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

	"conclave/rank"
)

var paramsToTry = []Params{
	DefaultParams(),
	{K1: 1.2, B: 0.75, ExactLengths: true},
	{K1: 0, B: 0},
	{K1: 0.9, B: 1},
	{K1: 3, B: 0, ExactLengths: true},
}

// TestSearchAgainstFormula searches random collections of several windows.
func TestSearchAgainstFormula(t *testing.T) {
	for i, params := range paramsToTry {
		rng := rand.New(rand.NewPCG(11, uint64(i)))
		const vocabulary = 400
		passages := randomPassages(rng, 2000+i*3000, vocabulary)
		x := build(t, params, passages)
		if err := x.Check(); err != nil {
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
			oracle.check(t, question, k, hits)
		}
	}
}

// divide cuts passages into segments at random places, leaving gaps between
// their ordinals if asked to.
func divide(t *testing.T, rng *rand.Rand, params Params, passages []goldenPassage, parts int) []Segment {
	cuts := []int{0, len(passages)}
	for range parts - 1 {
		cuts = append(cuts, rng.IntN(len(passages)+1))
	}
	slices.Sort(cuts)
	var out []Segment
	for i := range parts {
		out = append(out, Segment{Index: build(t, params, passages[cuts[i]:cuts[i+1]]), Base: rank.Ordinal(cuts[i])})
	}
	return out
}

// TestDivisionDoesNotMatter: one segment or several give the same hits, in the
// same order, with the same bits in their scores.
func TestDivisionDoesNotMatter(t *testing.T) {
	for i, params := range paramsToTry {
		rng := rand.New(rand.NewPCG(12, uint64(i)))
		const vocabulary = 300
		passages := randomPassages(rng, 6000, vocabulary)
		one, err := NewSearcher(Segment{Index: build(t, params, passages)})
		if err != nil {
			t.Fatal(err)
		}
		for _, parts := range []int{2, 5} {
			many, err := NewSearcher(divide(t, rng, params, passages, parts)...)
			if err != nil {
				t.Fatal(err)
			}
			if one.Statistics() != many.Statistics() {
				t.Fatalf("statistics %+v and %+v", one.Statistics(), many.Statistics())
			}
			for range 40 {
				compareSearchers(t, rng, one, many, randomQuestion(rng, vocabulary), len(passages), nil)
			}
		}
	}
}

// TestUnlikeSegments: segments of short and of long passages, whose own average
// lengths are far from the collection's, so that impacts change places.
func TestUnlikeSegments(t *testing.T) {
	for i, params := range paramsToTry {
		rng := rand.New(rand.NewPCG(18, uint64(i)))
		var passages []goldenPassage
		for range 300 {
			passages = append(passages, goldenPassage{Text: "cat " + strings.Repeat("cat ", rng.IntN(3)) + strings.Repeat("dog ", rng.IntN(3))})
		}
		for range 300 {
			passages = append(passages, goldenPassage{Text: "cat " + strings.Repeat("cat ", rng.IntN(40)) + strings.Repeat("dog ", rng.IntN(60)) + strings.Repeat("x ", rng.IntN(2000))})
		}
		one := build(t, params, passages)
		many, err := NewSearcher(Segment{Index: build(t, params, passages[:300])}, Segment{Index: build(t, params, passages[300:]), Base: 300})
		if err != nil {
			t.Fatal(err)
		}
		for _, question := range []string{"cat", "dog", "cat dog x"} {
			for range 10 {
				compareSearchers(t, rng, one.alone, many, question, len(passages), nil)
			}
		}
		for _, g := range many.segments {
			high := float32(0)
			for rank := range g.Index.impacts {
				high = max(high, g.scale.ofRank[rank])
				if got := g.scale.bound(2, uint32(rank)); got < termScore(2, high) {
					t.Fatalf("%+v: the bound of rank %d is %v, and an impact up to it scores %v", params, rank, got, termScore(2, high))
				}
			}
		}
	}
}

// compareSearchers compares hits, scores, explanations and the number of
// matches. Ordinals of b are mapped to those of a by toA, if given.
func compareSearchers(t *testing.T, rng *rand.Rand, a, b *Searcher, question string, passages int, toA []rank.Ordinal) {
	t.Helper()
	k := 1 + rng.IntN(200)
	hitsA, err := a.Search(t.Context(), question, k)
	if err != nil {
		t.Fatal(err)
	}
	hitsB, err := b.Search(t.Context(), question, k)
	if err != nil {
		t.Fatal(err)
	}
	inB := make([]rank.Ordinal, len(hitsB))
	for i := range hitsB {
		inB[i] = hitsB[i].Ordinal
		if toA != nil {
			hitsB[i].Ordinal = toA[hitsB[i].Ordinal]
		}
	}
	if !slices.Equal(hitsA, hitsB) {
		t.Fatalf("%q, k %d:\n%v\n%v", question, k, hitsA, hitsB)
	}
	scores := make([]float32, len(inB))
	if err := b.Scores(question, inB, scores); err != nil {
		t.Fatal(err)
	}
	for i, h := range hitsA {
		if scores[i] != h.Score {
			t.Fatalf("%q: Scores gives %v for a hit with %v", question, scores[i], h.Score)
		}
	}
	matchedA, errA := a.Matched(t.Context(), question)
	matchedB, errB := b.Matched(t.Context(), question)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	if matchedA != matchedB || len(hitsA) != min(k, matchedA) {
		t.Fatalf("%q: %d and %d passages match, %d hits for k %d", question, matchedA, matchedB, len(hitsA), k)
	}
}

// TestDeletedPassages: a collection with deleted passages, in segments, scores
// as one that never had them.
func TestDeletedPassages(t *testing.T) {
	for i, params := range paramsToTry[:3] {
		for _, fraction := range []float64{0.001, 0.3, 0.97} {
			rng := rand.New(rand.NewPCG(13, uint64(i)))
			const vocabulary = 300
			passages := randomPassages(rng, 6000, vocabulary)
			segments := divide(t, rng, params, passages, 3)
			var kept []goldenPassage
			newOrdinal := make([]rank.Ordinal, len(passages))
			oracle := newNaive(params, passages)
			for s := range segments {
				segments[s].Deleted = make([]uint64, (segments[s].Index.Docs()+63)/64)
				for p := range segments[s].Index.Docs() {
					at := int(segments[s].Base) + p
					if rng.Float64() < fraction {
						segments[s].Deleted[p/64] |= 1 << (p % 64)
						oracle.delete(at)
						continue
					}
					newOrdinal[at] = rank.Ordinal(len(kept))
					kept = append(kept, passages[at])
				}
			}
			many, err := NewSearcher(segments...)
			if err != nil {
				t.Fatal(err)
			}
			one, err := NewSearcher(Segment{Index: build(t, params, kept)})
			if err != nil {
				t.Fatal(err)
			}
			if one.Statistics() != many.Statistics() {
				t.Fatalf("statistics %+v and %+v", one.Statistics(), many.Statistics())
			}
			for j := range 20 {
				question := randomQuestion(rng, vocabulary)
				compareSearchers(t, rng, one, many, question, len(passages), newOrdinal)
				if j < 3 {
					hits, err := many.Search(t.Context(), question, 50)
					if err != nil {
						t.Fatal(err)
					}
					oracle.check(t, question, 50, hits)
				}
			}
			for at, p := range oracle.passages {
				if p == nil {
					if err := many.Scores("w1", []rank.Ordinal{rank.Ordinal(at)}, make([]float32, 1)); !errors.Is(err, ErrNoPassage) {
						t.Fatalf("the score of a deleted passage: %v", err)
					}
					if _, err := many.Explain("w1", rank.Ordinal(at)); !errors.Is(err, ErrNoPassage) {
						t.Fatalf("the explanation of a deleted passage: %v", err)
					}
					break
				}
			}
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
		if matched, err := x.alone.Matched(t.Context(), question); err != nil || matched != want {
			t.Errorf("%s: %d matched, %v", question, matched, err)
		}
	}
	if hits, err := x.Search(t.Context(), "windmill", 1); err != nil || hits[0].Score != 0 {
		t.Errorf("the test is to have a score of 0: %v, %v", hits, err)
	}
}

// TestExplain: the terms' scores add up to the score of the hit, and the
// factors of each term are those of the formula.
func TestExplain(t *testing.T) {
	passages := []goldenPassage{
		{Title: "Dogs", Text: "The dog's owner walks two dogs and a cat."},
		{Title: "Cats", Text: "A cat sleeps."},
		{Title: "", Text: "and the of"},
		{Title: "Weather", Text: "It rains cats and dogs, and rains."},
	}
	x := build(t, DefaultParams(), passages)
	e, err := x.Explain("Cats and dogs, dogs!", 0)
	if err != nil {
		t.Fatal(err)
	}
	// Terms of the passages: dog dog owner walk two dog cat (7); cat cat sleep
	// (3); none; weather rain cat dog rain (5). By hand: N = 3, average = 5.
	if len(e.Terms) != 2 || e.Length != 7 || e.Counted != 7 || e.Statistics != (Statistics{Passages: 4, WithTerms: 3, Terms: 15, Average: 5}) {
		t.Fatalf("explanation %+v", e)
	}
	dog, cat := e.Terms[0], e.Terms[1]
	if dog.Term != "dog" || dog.Count != 2 || dog.TF != 3 || dog.DF != 2 || cat.Term != "cat" || cat.Count != 1 || cat.TF != 1 || cat.DF != 3 {
		t.Fatalf("terms %+v", e.Terms)
	}
	near := func(what string, got float32, want float64) {
		t.Helper()
		if d := float64(got) - want; d > 1e-6 || d < -1e-6 {
			t.Errorf("%s is %v, by hand %v", what, got, want)
		}
	}
	near("idf of dog", dog.IDF, 0.4700036)        // ln(1 + 1.5/2.5)
	near("idf of cat", cat.IDF, 0.1335314)        // ln(1 + 0.5/3.5)
	near("norm of dog", dog.Norm, 3/(3+0.9*1.16)) // 0.6 + 0.4·7/5 = 1.16
	near("norm of cat", cat.Norm, 1/(1+0.9*1.16)) //
	near("score of dog", dog.Score, 2*0.4700036*3/(3+0.9*1.16))
	near("score", e.Score, float64(dog.Score)+float64(cat.Score))
	hits, err := x.Search(t.Context(), "Cats and dogs, dogs!", 10)
	if err != nil || len(hits) != 3 || hits[0].Ordinal != 0 || hits[0].Score != e.Score {
		t.Fatalf("hits %v (%v), explained %v", hits, err, e.Score)
	}
	if e, err := x.Explain("cats", 2); err != nil || e.Score != 0 || len(e.Terms) != 0 {
		t.Errorf("a passage without the term: %+v, %v", e, err)
	}
	if _, err := x.Explain("cats", 4); !errors.Is(err, ErrNoPassage) {
		t.Errorf("a passage beyond the end: %v", err)
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
	if err := x.Scores("w1", []rank.Ordinal{3000}, make([]float32, 1)); !errors.Is(err, ErrNoPassage) {
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
		if err := x.Check(); err != nil {
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
	if hits, err := s.Search(t.Context(), "windmill", 3); err != nil || len(hits) > 0 {
		t.Errorf("without segments: %v, %v", hits, err)
	}
}

func TestSearchEndsWithItsContext(t *testing.T) {
	passages := make([]goldenPassage, 3*patience*window/2)
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
	if _, err := x.alone.Matched(ctx, "windmill"); !errors.Is(err, cause) {
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

func TestSegmentsThatDoNotFit(t *testing.T) {
	a := build(t, DefaultParams(), []goldenPassage{{Text: "a windmill"}, {Text: "a dog"}})
	b := build(t, Params{K1: 1.2, B: 0.75}, []goldenPassage{{Text: "a windmill"}})
	for name, segments := range map[string][]Segment{
		"overlapping":              {{Index: a}, {Index: a, Base: 1}},
		"descending":               {{Index: a, Base: 10}, {Index: a}},
		"beyond the last ordinal":  {{Index: a, Base: ^rank.Ordinal(0)}},
		"other parameters":         {{Index: a}, {Index: b, Base: 2}},
		"deleted beyond the index": {{Index: a, Deleted: []uint64{4}}},
	} {
		if _, err := NewSearcher(segments...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	// Bases may leave gaps.
	s, err := NewSearcher(Segment{Index: a, Base: 5}, Segment{Index: a, Base: 50})
	if err != nil {
		t.Fatal(err)
	}
	hits, err := s.Search(t.Context(), "dog", 9)
	if err != nil || len(hits) != 2 || hits[0].Ordinal != 6 || hits[1].Ordinal != 51 {
		t.Errorf("hits %v, %v", hits, err)
	}
	for _, o := range []rank.Ordinal{0, 7, 49, 52} {
		if err := s.Scores("dog", []rank.Ordinal{o}, make([]float32, 1)); !errors.Is(err, ErrNoPassage) {
			t.Errorf("ordinal %d: %v", o, err)
		}
	}
}

// TestTiesAcrossSegments: with an order of ties given, several segments answer as
// one whose passages are numbered in that order.
func TestTiesAcrossSegments(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 0))
	const vocabulary = 30
	passages := slices.Repeat(randomPassages(rng, 300, vocabulary), 10) // each ten times: ties everywhere
	one := build(t, DefaultParams(), passages)
	// Deal the passages out to segments; in each they stay in order.
	const parts = 4
	dealt := make([][]goldenPassage, parts)
	places := make([][]rank.Ordinal, parts)
	for i, p := range passages {
		to := rng.IntN(parts)
		dealt[to] = append(dealt[to], p)
		places[to] = append(places[to], rank.Ordinal(i))
	}
	var segments []Segment
	var inOne []rank.Ordinal
	for i := range dealt {
		segments = append(segments, Segment{Index: build(t, DefaultParams(), dealt[i]), Base: rank.Ordinal(len(inOne))})
		inOne = append(inOne, places[i]...)
	}
	many, err := NewSearcher(segments...)
	if err != nil {
		t.Fatal(err)
	}
	many.OrderTies(func(a, b rank.Ordinal) int { return int(inOne[a]) - int(inOne[b]) })
	for range 200 {
		compareSearchers(t, rng, one.alone, many, randomQuestion(rng, vocabulary), len(passages), inOne)
	}
}

// TestConcurrentSearches: many at once, with deleted passages to be counted,
// give what one after the other gives.
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
	for i := range questions {
		questions[i] = randomQuestion(rng, 100)
		s, err := NewSearcher(Segment{Index: x, Deleted: deleted})
		if err != nil {
			t.Fatal(err)
		}
		if want[i], err = s.Search(t.Context(), questions[i], 20); err != nil {
			t.Fatal(err)
		}
	}
	s, err := NewSearcher(Segment{Index: x, Deleted: deleted})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i, question := range questions {
				hits, err := s.Search(t.Context(), question, 20)
				if err != nil || !slices.Equal(hits, want[i]) {
					t.Errorf("%q: %v, %v, alone %v", question, hits, err, want[i])
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
	_, stats, err := x.alone.SearchStats(t.Context(), "rare common plain", 10)
	if err != nil {
		t.Fatal(err)
	}
	if stats.Decoded > stats.Postings/2 || stats.Terms != 3 || stats.Windows+stats.Skipped != 15 {
		t.Errorf("%+v", stats)
	}
}
