package bm25

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/rank"
)

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
			if one.statistics != many.statistics {
				t.Fatalf("statistics %+v and %+v", one.statistics, many.statistics)
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
			passages = append(
				passages,
				goldenPassage{Text: "cat " + strings.Repeat("cat ", rng.IntN(3)) + strings.Repeat("dog ", rng.IntN(3))},
			)
		}
		for range 300 {
			passages = append(
				passages,
				goldenPassage{
					Text: "cat " + strings.Repeat(
						"cat ", rng.IntN(40),
					) + strings.Repeat(
						"dog ",
						rng.IntN(60),
					) + strings.Repeat("x ", rng.IntN(2000)),
				},
			)
		}
		one := build(t, params, passages)
		many, err := NewSearcher(
			Segment{Index: build(t, params, passages[:300])},
			Segment{Index: build(t, params, passages[300:]), Base: 300},
		)
		if err != nil {
			t.Fatal(err)
		}
		for _, question := range []string{"cat", "dog", "cat dog x"} {
			for range 10 {
				compareSearchers(t, rng, one.alone(), many, question, len(passages), nil)
			}
		}
		for _, g := range many.segments {
			high := float32(0)
			for rank := range g.Index.impacts {
				high = max(high, g.scale.ofRank[rank])
				if got := g.scale.bound(2, uint32(rank)); got < termScore(2, high) {
					t.Fatalf(
						"%+v: the bound of rank %d is %v, and an impact up to it scores %v",
						params,
						rank,
						got,
						termScore(2, high),
					)
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
	hitsA, err := a.Search(t.Context(), question, k, nil)
	if err != nil {
		t.Fatal(err)
	}
	hitsB, err := b.Search(t.Context(), question, k, nil)
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
	matchedA, errA := a.matched(t.Context(), question)
	matchedB, errB := b.matched(t.Context(), question)
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
			if one.statistics != many.statistics {
				t.Fatalf("statistics %+v and %+v", one.statistics, many.statistics)
			}
			for j := range 20 {
				question := randomQuestion(rng, vocabulary)
				compareSearchers(t, rng, one, many, question, len(passages), newOrdinal)
				if j < 3 {
					hits, err := many.Search(t.Context(), question, 50, nil)
					if err != nil {
						t.Fatal(err)
					}
					oracle.checkHits(t, question, 50, hits)
				}
			}
			for at, p := range oracle.passages {
				if p == nil {
					if err := many.Scores("w1", []rank.Ordinal{rank.Ordinal(at)}, make([]float32, 1)); !errors.Is(err, errNoPassage) {
						t.Fatalf("the score of a deleted passage: %v", err)
					}
					if _, err := many.Explain("w1", rank.Ordinal(at)); !errors.Is(err, errNoPassage) {
						t.Fatalf("the explanation of a deleted passage: %v", err)
					}
					break
				}
			}
		}
	}
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
	hits, err := s.Search(t.Context(), "dog", 9, nil)
	if err != nil || len(hits) != 2 || hits[0].Ordinal != 6 || hits[1].Ordinal != 51 {
		t.Errorf("hits %v, %v", hits, err)
	}
	for _, o := range []rank.Ordinal{0, 7, 49, 52} {
		if err := s.Scores("dog", []rank.Ordinal{o}, make([]float32, 1)); !errors.Is(err, errNoPassage) {
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
	many.OrderTies(func(a, b rank.Ordinal) (int, error) { return int(inOne[a]) - int(inOne[b]), nil })
	for range 200 {
		compareSearchers(t, rng, one.alone(), many, randomQuestion(rng, vocabulary), len(passages), inOne)
	}
}
