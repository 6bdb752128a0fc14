package fusion

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"example.org/conclave/internal/rank"
)

// TestNumberingDoesNotShow: the same passages, numbered in another order, have the
// same scores, to the last bit, and the same order of ids, by every method and for
// every k: many passages are alike, as in a text full of duplicates, and lists end
// among equals. What ties is decided by the ids alone.
func TestNumberingDoesNotShow(t *testing.T) {
	const passages = 90
	random := rand.New(rand.NewPCG(12, 7))
	for round := range 40 {
		truth := make([][]float32, 3) // by source and id
		for s := range truth {
			truth[s] = make([]float32, passages)
			for id := range truth[s] {
				// A third of each, a fifth, …: numbers that no float holds exactly.
				truth[s][id] = float32(random.IntN(4)) / float32(3+2*s)
			}
		}
		sources := []Source{{0, .3}, {1, .2}, {2, .1}}
		kept := 20 + random.IntN(30)
		type answer struct {
			IDs    []int
			Scores []float64
		}
		ask := func(idOf []int) map[string]answer { // by ordinal
			lists := make([][]rank.Hit, len(truth))
			for s := range lists {
				for o, id := range idOf {
					lists[s] = append(lists[s], rank.Hit{Ordinal: rank.Ordinal(o), Score: truth[s][id]})
				}
				// A source's own ties go by id, as a collection's do.
				slices.SortFunc(lists[s], func(a, b rank.Hit) int {
					return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(idOf[a.Ordinal], idOf[b.Ordinal]))
				})
				lists[s] = lists[s][:kept]
			}
			out := map[string]answer{}
			for _, m := range methods() {
				for _, k := range []int{1, 7, 10, 31, passages} {
					var c Candidates
					if err := c.Reset(lists); err != nil {
						t.Fatal(err)
					}
					for s := range lists {
						var exact []float32
						for _, o := range c.Missing(s, nil) {
							exact = append(exact, truth[s][idOf[o]])
						}
						if err := c.Complete(s, exact); err != nil {
							t.Fatal(err)
						}
					}
					c.OrderTies(func(list []rank.Ordinal) {
						slices.SortFunc(list, func(a, b rank.Ordinal) int { return cmp.Compare(idOf[a], idOf[b]) })
					})
					r, err := m.fuse(&c, sources, k)
					if err != nil {
						t.Fatal(err)
					}
					var a answer
					for _, item := range r.Items {
						a.IDs, a.Scores = append(a.IDs, idOf[item.Ordinal]), append(a.Scores, item.Score)
					}
					out[fmt.Sprintf("%s, k %d", m.name, k)] = a
				}
			}
			return out
		}
		inOrder := make([]int, passages)
		for i := range inOrder {
			inOrder[i] = i
		}
		want := ask(inOrder)
		for range 3 {
			got := ask(random.Perm(passages))
			for name := range want {
				if !reflect.DeepEqual(got[name], want[name]) {
					t.Fatalf("round %d, %s:\nnumbered by id   %+v\nnumbered anyhow %+v", round, name, want[name], got[name])
				}
			}
		}
	}
}

// TestTiesAskForFewIDs: only what ties is compared by its id.
func TestTiesAskForFewIDs(t *testing.T) {
	var c Candidates
	hits := make([]rank.Hit, 100)
	for i := range hits {
		hits[i] = rank.Hit{Ordinal: rank.Ordinal(i), Score: float32(1000 - i)}
	}
	hits[9].Score = hits[10].Score // the tenth and the eleventh are equal, and so are two far behind
	hits[80].Score = hits[81].Score
	if err := c.Reset([][]rank.Hit{hits}); err != nil {
		t.Fatal(err)
	}
	var asked [][]rank.Ordinal
	c.OrderTies(func(list []rank.Ordinal) {
		asked = append(asked, slices.Clone(list))
		slices.Reverse(list)
	})
	r, err := Sum(&c, []Source{{0, 1}}, LinearOptions{}, 10)
	if err != nil || len(r.Items) != 10 || r.Items[9].Ordinal != 10 || len(asked) != 1 ||
		!slices.Equal(asked[0], []rank.Ordinal{9, 10}) {
		t.Errorf("%v: %+v, asked %v", err, r.Items, asked)
	}
}
