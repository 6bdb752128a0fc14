package opensearch

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"conclave/bm25"
	"conclave/collection"
	"conclave/corpus"
	"conclave/rank"
	"conclave/search"
)

// drawn gives a text a vector of independent normal numbers, which graphs find hard.
type drawn struct{ hashed }

const drawnDimension = 256

func (drawn) Dimension() int { return drawnDimension }

func (d drawn) EncodePassages(_ context.Context, passages []corpus.Passage) (out [][]float32, err error) {
	for _, p := range passages {
		f := fnv.New64a()
		_, _ = io.WriteString(f, p.Text)
		random, v := rand.New(rand.NewPCG(f.Sum64(), 1)), make([]float32, drawnDimension)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		out = append(out, v)
	}
	return out, nil
}

// TestRecall: of the 100 best by an exact sum, the graph of one shard finds as many as the
// graph of a collection in a folder, less 0.001. With 100 kept, as many as are asked for,
// it finds 0.994 to 0.998 where that finds all.
func TestRecall(t *testing.T) {
	var given []corpus.Passage
	for i := range 2500 {
		given = append(given, corpus.Passage{ID: fmt.Sprint("p", i), Text: fmt.Sprint(i)})
	}
	e := drawn{hashed{name: "drawn"}}
	far, near := built(t, "view-recall", given, 1, collection.BuildOptions{Words: bm25.DefaultParams(), Experts: []collection.PassageEncoder{e}, Index: collection.Index{Kind: "hnsw"}})
	all, _ := e.EncodePassages(t.Context(), given)
	const k, questions = 100, 30
	var found [2]int
	for n := range questions {
		query := all[n*7]
		type scored struct {
			id  string
			sum float64
		}
		var best []scored
		for i, v := range all {
			sum := 0.0
			for d := range v {
				sum += float64(v[d]) * float64(query[d])
			}
			best = append(best, scored{given[i].ID, sum})
		}
		slices.SortFunc(best, func(a, b scored) int { return cmp.Compare(b.sum, a.sum) })
		for side, corpus := range []search.Corpus{far, near} {
			view := corpus.Acquire()
			vectors, _ := view.Vectors("drawn")
			hits, err := vectors.Search(t.Context(), query, k, false)
			if err != nil || len(hits) != k {
				t.Fatalf("%d hits, %v", len(hits), err)
			}
			var ordinals []rank.Ordinal
			for _, h := range hits {
				ordinals = append(ordinals, h.Ordinal)
			}
			read, err := view.Passages().Read(t.Context(), ordinals)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range read {
				if slices.ContainsFunc(best[:k], func(s scored) bool { return s.id == p.ID }) {
					found[side]++
				}
			}
			view.Release()
		}
	}
	cluster, folder := float64(found[0])/(k*questions), float64(found[1])/(k*questions)
	t.Logf("recall@100: %.4f in the cluster, %.4f in the folder", cluster, folder)
	if cluster < folder-0.001 {
		t.Errorf("recall@100 is %.4f in the cluster, and %.4f in the folder", cluster, folder)
	}
}
