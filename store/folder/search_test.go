package folder

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"example.org/conclave/ann"
	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

type named struct {
	id    string
	score float32
}

// names replaces ordinals by ids.
func names(t testing.TB, g *Generation, hits []rank.Hit) []named {
	t.Helper()
	out := make([]named, len(hits))
	for i, h := range hits {
		id, err := g.ID(h.Ordinal)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = named{id, h.Score}
	}
	return out
}

func questions(seed uint64, n int) []string {
	rng := rand.New(rand.NewPCG(seed, 4))
	out := make([]string, n)
	for i := range out {
		for range 1 + rng.IntN(3) {
			out[i] += fmt.Sprintf("word%d ", int(math.Abs(rng.NormFloat64()*10)))
		}
	}
	return out
}

// TestBuiltCollection builds one segment and compares all that can be asked of
// it with the passages and a search by hand.
func TestBuiltCollection(t *testing.T) {
	wiki, health := &hashEncoder{name: "wiki", dimension: 16}, &hashEncoder{name: "health", dimension: 24}
	passages := randomPassages(1, 700)
	dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{wiki, health}, BatchPassages: 64}, passages)
	g := opened(t, dir)
	if g.Len() != len(passages) || g.Number() != 1 || g.Segments() != 1 {
		t.Fatalf("%d passages, generation %d, %d segments", g.Len(), g.Number(), g.Segments())
	}
	sorted := byID(passages)
	for i, want := range sorted {
		got, err := g.Passage(rank.Ordinal(i))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("passage %d is %+v, %v, want %+v", i, got, err, want)
		}
		if o, ok, err := g.Ordinal(want.ID); err != nil || !ok || int(o) != i {
			t.Fatalf("passage %s has the ordinal %d, %v, %v", want.ID, o, ok, err)
		}
	}
	if _, ok, err := g.Ordinal("nothing"); ok || err != nil {
		t.Fatalf("an absent id: %v, %v", ok, err)
	}
	if _, err := g.Passage(rank.Ordinal(g.Len())); err == nil {
		t.Fatal("a passage behind the last")
	}
	for _, e := range []*hashEncoder{wiki, health} {
		v, ok := g.Expert(e.name)
		if !ok || v.Len() != len(passages) || v.Dimension() != e.dimension {
			t.Fatalf("expert %s: %v", e.name, ok)
		}
		for _, q := range questions(2, 20) {
			query := e.vector(q)
			hits, err := v.Search(t.Context(), query, 10, true)
			if err != nil {
				t.Fatal(err)
			}
			scores := make([]float64, len(sorted))
			for i, p := range sorted {
				scores[i] = dot(query, e.vector(p.Title+" "+p.Text))
			}
			best := slices.Clone(scores)
			slices.Sort(best)
			ordinals := make([]rank.Ordinal, len(hits))
			for i, h := range hits {
				ordinals[i] = h.Ordinal
				if want := best[len(best)-1-i]; math.Abs(float64(h.Score)-want) > 1e-5 || math.Abs(scores[h.Ordinal]-want) > 1e-5 {
					t.Fatalf("%s, %q: hit %d scores %v, that passage %v, the best %v", e.name, q, i, h.Score, scores[h.Ordinal], want)
				}
			}
			out := make([]float32, len(hits))
			v.Scores(query, ordinals, out)
			for i := range out {
				if out[i] != hits[i].Score {
					t.Fatalf("hit %d scores %v when found and %v when asked", i, hits[i].Score, out[i])
				}
			}
		}
	}
	if _, ok := g.Expert("nobody"); ok {
		t.Fatal("an expert that is not there")
	}
}

// TestSegmentsDoNotShow: BM25 and exact search give the same ids in the same
// order with the same scores, whether a corpus came in one segment or in many.
func TestSegmentsDoNotShow(t *testing.T) {
	e := &hashEncoder{name: "base", dimension: 12}
	o := store.BuildOptions{Experts: []store.PassageEncoder{e}, Index: store.Index{Kind: "flat"}}
	passages := randomPassages(3, 400)
	one := opened(t, built(t, o, passages))
	// bm25 alone is the oracle for one segment.
	builder := bm25.NewBuilder(bm25.DefaultParams())
	for _, p := range byID(passages) {
		if err := builder.Add(p.Title, p.Text); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "words")
	if err := builder.Write(disk.OS{}, path); err != nil {
		t.Fatal(err)
	}
	plain, err := bm25.Open(disk.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plain.Close() }()
	alone, err := bm25.NewSearcher(bm25.Segment{Index: plain})
	if err != nil {
		t.Fatal(err)
	}

	ties := 0
	for _, n := range []int{2, 5} {
		many := opened(t, built(t, o, split(uint64(n), passages, n)...))
		if many.Segments() != n || many.Len() != len(passages) {
			t.Fatalf("%d segments with %d passages", many.Segments(), many.Len())
		}
		for i, q := range questions(5, 60) {
			k := []int{1, 3, 10, 50, 1000}[i%5]
			want, err := alone.Search(t.Context(), q, k, nil)
			if err != nil {
				t.Fatal(err)
			}
			for j := 1; j < len(want); j++ {
				if want[j].Score == want[j-1].Score {
					ties++
				}
			}
			for _, g := range []*Generation{one, many} {
				got, err := g.Words().Search(t.Context(), q, k)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(names(t, g, got), names(t, one, want)) {
					t.Fatalf("%d segments, %q, k %d:\ngot  %v\nwant %v", g.Segments(), q, k, names(t, g, got), names(t, one, want))
				}
				compareScores(t, g, q, got)
			}
			vOne, _ := one.Expert("base")
			vMany, _ := many.Expert("base")
			a, errA := vOne.Search(t.Context(), e.vector(q), k, true)
			b, errB := vMany.Search(t.Context(), e.vector(q), k, true)
			if errA != nil || errB != nil || !slices.Equal(names(t, one, a), names(t, many, b)) {
				t.Fatalf(
					"%d segments, vectors, %q, k %d:\none  %v %v\nmany %v %v",
					n,
					q,
					k,
					names(t, one, a),
					errA,
					names(t, many, b),
					errB,
				)
			}
		}
	}
	if ties < 100 {
		t.Fatalf("only %d ties: this test wants many", ties)
	}
}

// compareScores asks for the scores and explanations of hits.
func compareScores(t *testing.T, g *Generation, q string, hits []rank.Hit) {
	t.Helper()
	ordinals, out := make([]rank.Ordinal, len(hits)), make([]float32, len(hits))
	for i, h := range hits {
		ordinals[i] = h.Ordinal
	}
	if err := g.Words().Scores(q, ordinals, out); err != nil {
		t.Fatal(err)
	}
	for i, h := range hits {
		if out[i] != h.Score {
			t.Fatalf("hit %d scores %v when found and %v when asked", i, h.Score, out[i])
		}
	}
	if len(hits) > 0 {
		terms, err := g.Words().Explain(q, hits[0].Ordinal)
		sum := 0.0
		for _, term := range terms {
			sum += float64(term.Score)
		}
		if err != nil || math.Abs(sum-float64(hits[0].Score)) > 1e-6*sum {
			t.Fatalf("explained as %v, %v", terms, err)
		}
	}
}

// recalled counts what searches find of the ten nearest, by score; compared is
// how many of the searches compared every vector.
func recalled(t testing.TB, v *Vectors, queries [][]float32) (found, wanted, compared int) {
	t.Helper()
	for _, q := range queries {
		exact, _, err := v.SearchStats(t.Context(), q, ann.SearchOptions{K: 10, Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		hits, stats, err := v.SearchStats(t.Context(), q, ann.SearchOptions{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			if h.Score >= exact[len(exact)-1].Score {
				found++
			}
		}
		wanted += len(exact)
		if stats.Exact {
			compared++
		}
	}
	return found, wanted, compared
}

// TestGraphOverSegments: the graphs of several segments find at least what one
// finds.
func TestGraphOverSegments(t *testing.T) {
	e := &hashEncoder{name: "base", dimension: 16}
	o := store.BuildOptions{Experts: []store.PassageEncoder{e}}
	passages := randomPassages(6, 6000)
	one, many := opened(t, built(t, o, passages)), opened(t, built(t, o, split(7, passages, 3)...))
	recall := func(g *Generation) float64 {
		v, _ := g.Expert("base")
		found, all, _ := recalled(t, v, e.vectorsOf(questions(8, 50)))
		return float64(found) / float64(all)
	}
	a, b := recall(one), recall(many)
	t.Logf("recall@10: %.4f in one segment, %.4f in three", a, b)
	if b < a-0.005 {
		t.Fatalf("recall@10 is %.4f in one segment and %.4f in three", a, b)
	}
	for _, x := range many.Experts() {
		if x.Recall.Stored.At10 < 0.95 || x.Recall.Stored.Queries < 200 || x.Passages != 6000 {
			t.Fatalf("%+v", x)
		}
	}
}

func TestSearchErrors(t *testing.T) {
	e := &hashEncoder{name: "base", dimension: 8}
	g := opened(
		t,
		built(t, store.BuildOptions{Experts: []store.PassageEncoder{e}}, randomPassages(9, 20), []corpus.Passage{{ID: "x", Text: "x"}}),
	)
	v, _ := g.Expert("base")
	if _, err := v.Search(t.Context(), make([]float32, 7), 3, false); err == nil {
		t.Error("a query of another dimension was answered")
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Words().Search(done, "word1", 3); err == nil {
		t.Error("words were searched for nobody")
	}
	if _, err := g.Words().Search(t.Context(), "word1", 0); err == nil {
		t.Error("k 0 was answered")
	}
	out := []float32{0}
	v.Scores(e.vector("word1"), []rank.Ordinal{999}, out)
	if out[0] == out[0] {
		t.Errorf("a passage that is not there scores %v", out[0])
	}
	if _, err := v.Vector(999); err == nil {
		t.Error("a vector that is not there")
	}
}
