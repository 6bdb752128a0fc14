package folder

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

// sameAnswers compares a collection with one that was built at once from the
// passages that it should have: the same ids, order and scores from BM25 and
// from exact search, and the same passages by id.
func sameAnswers(t *testing.T, name string, g *Generation, e *hashEncoder, live map[string]corpus.Passage) {
	t.Helper()
	if g.Len() != len(live) {
		t.Fatalf("%s: %d passages, want %d", name, g.Len(), len(live))
	}
	for id, want := range live {
		o, ok, err := g.Ordinal(id)
		if err != nil || !ok {
			t.Fatalf("%s: passage %s is not there: %v", name, id, err)
		}
		if got, err := g.Passage(o); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: passage %s is %+v, %v, want %+v", name, id, got, err, want)
		}
	}
	sameSample(t, name, g, slices.Sorted(maps.Keys(live)))
	var want *Generation
	if len(live) > 0 {
		want = opened(
			t,
			built(
				t,
				store.BuildOptions{Experts: []store.PassageEncoder{e}, Index: store.Index{Kind: "flat"}},
				slices.Collect(maps.Values(live)),
			),
		)
	}
	for i, q := range append(questions(11, 30), "new") {
		k := []int{1, 5, 20, 500}[i%4]
		words, err := g.Words().Search(t.Context(), q, k)
		if err != nil {
			t.Fatal(err)
		}
		v, _ := g.Expert(e.name)
		vectors, err := v.Search(t.Context(), e.vector(q), k, true)
		if err != nil {
			t.Fatal(err)
		}
		graph, err := v.Search(t.Context(), e.vector(q), k, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range names(t, g, graph) {
			if _, ok := live[h.id]; !ok {
				t.Fatalf("%s: %q found the deleted %s", name, q, h.id)
			}
		}
		if want == nil {
			if len(words)+len(vectors) > 0 {
				t.Fatalf("%s: %d hits in nothing", name, len(words)+len(vectors))
			}
			continue
		}
		wantWords, err := want.Words().Search(t.Context(), q, k)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := names(t, g, words), names(t, want, wantWords); !slices.Equal(a, b) {
			t.Fatalf("%s: %q, k %d, words:\ngot  %v\nwant %v", name, q, k, a, b)
		}
		w, _ := want.Expert(e.name)
		wantVectors, err := w.Search(t.Context(), e.vector(q), k, true)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := names(t, g, vectors), names(t, want, wantVectors); !slices.Equal(a, b) {
			t.Fatalf("%s: %q, k %d, vectors:\ngot  %v\nwant %v", name, q, k, a, b)
		}
		if i < 12 {
			sameSelection(t, name, g, e, live, q, k)
		}
	}
}

// TestDeleteAndReplace changes a collection at random and compares it each time
// with one that was built at once from what should be left.
func TestDeleteAndReplace(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	e := &hashEncoder{name: "base", dimension: 8}
	o := store.BuildOptions{Experts: []store.PassageEncoder{e}, Replace: true}
	first := randomPassages(20, 150)
	live := keyed(first)
	dir := built(t, o, first)
	for round := range 8 {
		name := fmt.Sprintf("round %d", round)
		if round%2 == 0 {
			var passages []corpus.Passage
			for _, p := range randomPassages(uint64(30+round), 40) { // p0 … p39 exist already
				if rng.IntN(3) == 0 {
					p.ID = fmt.Sprintf("new%d-%s", round, p.ID)
				}
				passages = append(passages, p)
			}
			replaced := 0
			for _, p := range passages {
				if _, ok := live[p.ID]; ok {
					replaced++
				}
				live[p.ID] = p
			}
			report, err := Add(t.Context(), dir, of(passages), o)
			if err != nil || report.Replaced != replaced {
				t.Fatalf("%s: %+v, %v, want %d replaced", name, report, err, replaced)
			}
		} else {
			removed := []string{"never there"}
			for id := range live {
				if rng.IntN(4) == 0 || round == 7 {
					removed = append(removed, id, id)
				}
			}
			deleted, err := Delete(t.Context(), dir, removed)
			if err != nil || deleted != len(removed)/2 {
				t.Fatalf("%s: %d deleted, %v, want %d", name, deleted, err, len(removed)/2)
			}
			for _, id := range removed {
				delete(live, id)
			}
		}
		g := opened(t, dir)
		sameAnswers(t, name, g, e, live)
		if report, err := Verify(t.Context(), dir, nil); err != nil || report.Passages != len(live) {
			t.Fatalf("%s: %+v, %v", name, report, err)
		}
		if round == 7 && g.Segments() != 0 {
			t.Fatalf("%d segments are left of nothing", g.Segments())
		}
	}
	// Of nothing something again.
	if _, err := Add(t.Context(), dir, of(first[:3]), o); err != nil {
		t.Fatal(err)
	}
	if g := opened(t, dir); g.Len() != 3 {
		t.Fatalf("%d passages", g.Len())
	}
	if n, err := Delete(t.Context(), dir, []string{"never there"}); n != 0 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
}

// TestDeletedPassagesAreGone: not by ordinal either, and not for a pinned
// generation.
func TestDeletedPassagesAreGone(t *testing.T) {
	dir := built(t, store.BuildOptions{}, randomPassages(1, 10))
	before := opened(t, dir)
	if n, err := Delete(t.Context(), dir, []string{"p3"}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	after := opened(t, dir)
	o, ok, err := before.Ordinal("p3")
	if err != nil || !ok {
		t.Fatal("a pinned generation changed")
	}
	if _, err := before.Passage(o); err != nil {
		t.Fatal(err)
	}
	if p, err := after.Passage(o); err == nil {
		t.Fatalf("the deleted passage %+v was read", p)
	}
	if _, ok, _ := after.Ordinal("p3"); ok || after.Len() != 9 {
		t.Fatal("the deleted passage is there")
	}
	if err := after.Words().Scores("word1", []rank.Ordinal{o}, make([]float32, 1)); err == nil {
		t.Fatal("the deleted passage has a score")
	}
}

// TestDamagedTombstones: Open names a damaged file of tombstones.
func TestDamagedTombstones(t *testing.T) {
	dir := built(t, store.BuildOptions{}, randomPassages(1, 100))
	if _, err := Delete(t.Context(), dir, []string{"p3"}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "seg-*", "deleted-*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, _ := os.ReadFile(files[0])
	data[25] ^= 4
	if err := os.WriteFile(files[0], data, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "deleted-") {
		t.Fatalf("%v", err)
	}
}
