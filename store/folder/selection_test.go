package folder

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

// tagFilter is a filter as a request has it.
type tagFilter struct{ all, any []string }

func (f tagFilter) lets(p corpus.Passage) bool {
	has := func(tag string) bool { return slices.Contains(p.Tags, tag) }
	return (len(f.any) == 0 || slices.ContainsFunc(f.any, has)) &&
		!slices.ContainsFunc(f.all, func(tag string) bool { return !has(tag) })
}

func someFilters() []tagFilter {
	return []tagFilter{
		{}, {all: []string{"common"}}, {all: []string{"rare"}}, {all: []string{"red", "blue"}},
		{any: []string{"red", "blue"}},
		{all: []string{"common", "common"}, any: []string{"rare", "red", "nobody's"}},
		{all: []string{"nobody's"}}, {all: []string{"red", "nobody's"}}, {any: []string{"nobody's"}}, {all: []string{"Red"}},
	}
}

// sameSelection compares filtered searches with the first of the filtered
// passages in an exhaustive ranking of the same generation.
func sameSelection(
	t *testing.T,
	name string,
	g *Generation,
	e *hashEncoder,
	live map[string]corpus.Passage,
	q string,
	k int,
) {
	t.Helper()
	allWords, err := g.Words().Search(t.Context(), q, max(g.Ordinals(), 1))
	if err != nil {
		t.Fatal(err)
	}
	v, _ := g.Expert(e.name)
	allVectors, err := v.Search(t.Context(), e.vector(q), max(g.Ordinals(), 1), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range someFilters() {
		what := fmt.Sprintf("%s: %q, k %d, all %q, any %q", name, q, k, f.all, f.any)
		s, err := g.Select(f.all, f.any)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		count := 0
		for _, p := range live {
			if f.lets(p) {
				count++
			}
		}
		if s.Len() != count {
			t.Fatalf("%s: %d passages are selected, %d should be", what, s.Len(), count)
		}
		last := -1
		for o := range s.Ordinals() {
			id, err := g.ID(o)
			if p, ok := live[id]; err != nil || !ok || !f.lets(p) || int(o) <= last {
				t.Fatalf("%s: passage %d, %q, after %d: %v", what, o, id, last, err)
			}
			last = int(o)
			count = count - 1
		}
		if count != 0 {
			t.Fatalf("%s: %d passages of the selection are not listed", what, count)
		}
		first := func(all []rank.Hit) []named {
			out := slices.DeleteFunc(names(t, g, all), func(n named) bool { return !f.lets(live[n.id]) })
			return out[:min(k, len(out))]
		}
		words, err := g.Words().Among(s).Search(t.Context(), q, k)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got, want := names(t, g, words), first(allWords); !slices.Equal(got, want) {
			t.Fatalf("%s, words:\ngot  %v\nwant %v", what, got, want)
		}
		for _, exact := range []bool{true, false} {
			// So few vectors are compared one by one anyhow.
			vectors, stats, err := v.Among(s).SearchStats(t.Context(), e.vector(q), ann.SearchOptions{K: k, Exact: exact})
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if got, want := names(t, g, vectors), first(allVectors); stats.Exact && !slices.Equal(got, want) {
				t.Fatalf("%s, exact %v, vectors:\ngot  %v\nwant %v", what, exact, got, want)
			} else if len(got) != len(want) {
				t.Fatalf("%s: %d hits, want %d", what, len(got), len(want))
			}
		}
	}
}

// TestSelections: filters give the same whatever the division into segments,
// with deletions, and merged.
func TestSelections(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(61, seed))
		e := &hashEncoder{name: "base", dimension: 8}
		o := store.BuildOptions{Experts: []store.PassageEncoder{e}}
		passages := randomPassages(60+seed, 100+rng.IntN(200))
		live := keyed(passages)
		dir := built(t, o, split(61+seed, passages, 1+rng.IntN(5))...)
		removed := []string{"never there"}
		for _, p := range passages {
			if rng.IntN(6) == 0 {
				removed = append(removed, p.ID)
				delete(live, p.ID)
			}
		}
		if _, err := Delete(t.Context(), dir, removed); err != nil {
			t.Fatal(err)
		}
		check := func(name string) {
			t.Helper()
			g := opened(t, dir)
			contents(t, g)
			for i, q := range questions(62+seed, 8) {
				sameSelection(t, fmt.Sprintf("seed %d, %s", seed, name), g, e, live, q, []int{1, 5, 30, 1000}[i%4])
			}
		}
		check("in segments")
		mergeAll(t, dir)
		check("merged")
	}
}

// TestSelectionsOfGraphs: through the graphs of several segments, with
// deletions, a filter loses next to nothing either, be it near to the question
// or not: tags follow the texts' words.
func TestSelectionsOfGraphs(t *testing.T) {
	e := &hashEncoder{name: "base", dimension: 16}
	passages := randomPassages(6, 6000)
	for i := range passages {
		first, _, _ := strings.Cut(passages[i].Text, " ")
		passages[i].Tags = append(passages[i].Tags, first)
	}
	dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{e}}, split(7, passages, 2)...)
	var removed []string
	for i := range 300 {
		removed = append(removed, passages[i*17].ID)
	}
	if _, err := Delete(t.Context(), dir, removed); err != nil {
		t.Fatal(err)
	}
	g := opened(t, dir)
	v, _ := g.Expert("base")
	for _, f := range []tagFilter{{}, {all: []string{"common"}}, {any: []string{"red", "blue"}}, {all: []string{"word1"}}, {any: []string{"word0", "word1", "word2", "word3", "word4"}}, {any: []string{"rare"}}} {
		s, err := g.Select(f.all, f.any)
		if err != nil {
			t.Fatal(err)
		}
		found, all, exact := recalled(t, v.Among(s), e.vectorsOf(questions(8, 40)))
		t.Logf("%+v of %d passages: %d of %d found, %d of 40 searches exact", f, s.Len(), found, all, exact)
		if float64(found) < 0.99*float64(all) || all == 0 {
			t.Errorf("%+v: %d of %d found", f, found, all)
		}
	}
}

// TestSelectionsAreRemembered: the same filter in other words is the same
// selection, and what is remembered is bounded.
func TestSelectionsAreRemembered(t *testing.T) {
	dir := built(t, store.BuildOptions{}, randomPassages(64, 200))
	g := opened(t, dir)
	a, err := g.Select([]string{"red", "common"}, []string{"blue", "rare", "blue"})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := g.Select([]string{"common", "red", "red"}, []string{"rare", "blue"}); err != nil || a != b {
		t.Errorf("the same filter was selected twice: %v", err)
	}
	for _, f := range []tagFilter{
		{all: []string{"common", "red", "blue", "rare"}}, {all: []string{"common\x00red"}, any: []string{"blue", "rare"}},
		{all: []string{`common" "red`}, any: []string{"blue", "rare"}}, {any: []string{"common", "red"}, all: []string{"blue", "rare"}},
	} {
		if c, err := g.Select(f.all, f.any); err != nil || a == c {
			t.Errorf("%q is the same: %v", f, err)
		}
	}
	h := fnv.New64a()
	for i := range 3 * maxSelections {
		_, _ = fmt.Fprint(h, i)
		if _, err := g.Select(nil, []string{"common", fmt.Sprint(h.Sum64())}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(g.selections.known); n < 1 || n > maxSelections {
		t.Errorf("%d selections are remembered", n)
	}
	other := opened(t, dir)
	if _, err := other.Words().Among(a).Search(t.Context(), "word1", 3); err == nil {
		t.Error("a selection of another generation was used")
	}
}

// TestHidden: what is hidden by its id or that of its document is not selected, and everything else is, in each of
// several segments and of joined generations in the one that is meant.
func TestHidden(t *testing.T) {
	var joined []*Generation
	for range 2 {
		o := LiveOptions{FlushAfter: time.Hour, Merge: MergePolicy{Off: true}}
		l := lively(t, disk.OS{}, built(t, o.Build, randomPassages(1, 5)), o)
		for _, id := range []string{"d1#1", "d1#2", "d2#3", "d2#4", "d1#1", "d#1", "d10#1"} {
			apply(t, l, put(corpus.Passage{ID: id, Text: "some text"}))
			if err := l.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		g := l.Collection().Acquire()
		t.Cleanup(g.Release)
		joined = append(joined, g)
	}
	all, err := Join(joined)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []*Generation{joined[0], all} {
		for member := range max(1, len(g.members)) {
			hidden := []Hidden{{member, "d1"}, {member, "d2#3"}, {member, "nowhere"}, {member, "d1#1"}}
			s, err := g.SelectWhere(Condition{Hidden: hidden})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for o := range rank.Ordinal(g.Ordinals()) {
				id, err := g.ID(o)
				if err != nil {
					t.Fatal(err)
				}
				want := !g.Deleted(o)
				if len(g.members) == 0 || g.Member(o) == member {
					want = want && !strings.HasPrefix(id, "d1#") && id != "d2#3"
				}
				if s.Contains(o) != want {
					t.Errorf("member %d: %s is selected: %v", member, id, !want)
				}
				if want {
					n++
				}
			}
			if s.Len() != n {
				t.Errorf("%d are selected, want %d", s.Len(), n)
			}
		}
	}
}
