package bm25

import (
	"math/rand/v2"
	"slices"
	"testing"

	"example.org/conclave/internal/rank"
)

// TestSelections: the best of a selection are the first of its passages in an
// exhaustive ranking, with the same scores to the last bit, for selections of
// any share, scattered and in one piece, over any division into segments, with
// deletions.
func TestSelections(t *testing.T) {
	for i, params := range paramsToTry {
		rng := rand.New(rand.NewPCG(31, uint64(i)))
		const vocabulary = 300
		passages := randomPassages(rng, 14_000, vocabulary) // several windows
		for _, parts := range []int{1, 4} {
			segments := divide(t, rng, params, passages, parts)
			for s := range segments {
				segments[s].Deleted = make([]uint64, (segments[s].Index.Docs()+63)/64)
				for p := range segments[s].Index.Docs() {
					if rng.IntN(10) == 0 {
						segments[s].Deleted[p/64] |= 1 << (p % 64)
					}
				}
			}
			searcher, err := NewSearcher(segments...)
			if err != nil {
				t.Fatal(err)
			}
			for _, share := range []float64{1, 0.5, 0.1, 0.01, 0.002, 0} {
				for _, inOnePiece := range []bool{false, true} {
					chosen, among := randomSelection(rng, segments, len(passages), share, inOnePiece)
					for range 6 {
						compareSelection(t, rng, searcher, chosen, among, randomQuestion(rng, vocabulary))
					}
				}
			}
		}
	}
}

// randomSelection selects about a share of the passages.
func randomSelection(
	rng *rand.Rand,
	segments []Segment,
	passages int,
	share float64,
	inOnePiece bool,
) (map[rank.Ordinal]bool, Selection) {
	chosen, among := map[rank.Ordinal]bool{}, Selection{}
	from := rank.Ordinal(rng.Float64() * (1 - share) * float64(passages))
	for s, g := range segments {
		n := g.Index.Docs()
		among = append(among, make([]uint64, (n+63)/64))
		for p := range n {
			o := g.Base + rank.Ordinal(p)
			if inOnePiece && o >= from && o < from+rank.Ordinal(share*float64(passages)) ||
				!inOnePiece && rng.Float64() < share {
				among[s][p/64] |= 1 << (p % 64)
				chosen[o] = true
			}
		}
		switch last := len(among[s]) - 1; {
		case share == 1 && rng.IntN(2) == 0:
			among[s] = nil // which is all as well
			for p := range n {
				chosen[g.Base+rank.Ordinal(p)] = true
			}
		case last >= 0 && among[s][last] == 0:
			among[s] = among[s][:last] // shorter says the same
		case last >= 0 && n%64 != 0 && rng.IntN(3) == 0:
			among[s][last] |= 1 << 63 // beyond the segment: says nothing
		}
	}
	return chosen, among
}

func compareSelection(
	t *testing.T,
	rng *rand.Rand,
	s *Searcher,
	chosen map[rank.Ordinal]bool,
	among Selection,
	question string,
) {
	t.Helper()
	all, err := s.Search(t.Context(), question, 1<<30, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(all, func(h rank.Hit) bool { return !chosen[h.Ordinal] })
	for _, k := range []int{1, 10, 1 + rng.IntN(300), 1 << 30} {
		got, err := s.Search(t.Context(), question, k, among)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want[:min(k, len(want))]) {
			t.Fatalf("%q, k %d of %d selected:\n%v\nwant\n%v", question, k, len(chosen), got, want[:min(k, len(want))])
		}
	}
}

// TestSelectionOfAZeroScore: a selected passage whose score is too small for 32
// bits is a hit, one without the term is not.
func TestSelectionOfAZeroScore(t *testing.T) {
	x := build(
		t,
		Params{K1: 1e6, B: 1},
		slices.Concat([]goldenPassage{{Text: "windmill dog"}}, slices.Repeat([]goldenPassage{{Text: "dog"}}, 5000)),
	)
	s, err := NewSearcher(Segment{Index: x})
	if err != nil {
		t.Fatal(err)
	}
	hits, err := s.Search(t.Context(), "windmill dog", 10, Selection{{1<<1 | 1<<5}})
	if err != nil || len(hits) != 2 {
		t.Fatalf("%v, %v", hits, err)
	}
	if hits, err := s.Search(t.Context(), "windmill", 10, Selection{{1<<1 | 1<<5}}); err != nil || len(hits) != 0 {
		t.Fatalf("%v, %v", hits, err)
	}
	if _, err := s.Search(t.Context(), "windmill", 10, Selection{}); err == nil {
		t.Fatal("a selection of no segments was taken")
	}
}

// TestSelectionsAcrossTies: with an order of ties given as well.
func TestSelectionsAcrossTies(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 0))
	const vocabulary = 30
	passages := slices.Repeat(randomPassages(rng, 300, vocabulary), 10)
	segments := divide(t, rng, DefaultParams(), passages, 4)
	s, err := NewSearcher(segments...)
	if err != nil {
		t.Fatal(err)
	}
	s.OrderTies(func(a, b rank.Ordinal) (int, error) { return int(a) - int(b), nil })
	for _, share := range []float64{0.3, 0.01} {
		for range 40 {
			chosen, among := randomSelection(rng, segments, len(passages), share, false)
			compareSelection(t, rng, s, chosen, among, randomQuestion(rng, vocabulary))
		}
	}
}
