package folder

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
)

// TestRealConditions: on real vectors a search under a condition finds at least 0.98 of the ten nearest of all that
// meet it, compared one by one: whether a half, a twentieth, a two-hundredth or a two-thousandth of the passages does,
// and whether they are any, those nearest to the question, those furthest from it, or those near another passage. And
// it finds nothing else. The figures of docs/evidence/conditions.md:
//
//	CONCLAVE_TEST_VECTORS=43378 go test -run RealConditions -v ./store/folder
func TestRealConditions(t *testing.T) {
	n, asked := 5000, 5
	if text := os.Getenv("CONCLAVE_TEST_VECTORS"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		asked = 40
	}
	e := &readyEncoder{vectors: halves(t, "vectors/passages.f16", n)}
	questions := halves(t, "vectors/questions.f16", 20*asked)
	for i := range asked { // of all domains
		questions[i] = questions[20*i]
	}
	questions = questions[:asked]
	dot := func(a, b []float32) (sum float64) {
		for d := range a {
			sum += float64(a[d]) * float64(b[d])
		}
		return sum
	}
	const seed = 3
	rng := rand.New(rand.NewPCG(seed, 0))
	metadata := make([]map[string]any, n)
	for i, number := range rng.Perm(n) {
		metadata[i] = map[string]any{"any": number}
	}
	similar := make([][]float64, asked) // of each question to each passage
	ranked := func(field string, by []float32) (scores []float64) {
		order := make([]int, n)
		scores = make([]float64, n)
		for i := range order {
			order[i] = i
			scores[i] = dot(e.vectors[i], by)
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
		for number, i := range order {
			metadata[i][field] = number
		}
		return scores
	}
	for q := range questions {
		similar[q] = ranked(fmt.Sprint("question", q), questions[q])
	}
	ranked("topic", e.vectors[rng.IntN(n)])
	passages := make([]corpus.Passage, n)
	for i := range passages {
		passages[i] = corpus.Passage{ID: fmt.Sprintf("%05d", i), Text: "x", Metadata: metadata[i]}
	}
	g := opened(t, built(t, store.BuildOptions{Experts: []store.PassageEncoder{e}}, split(73, passages, 2)...))
	vectors, _ := g.Expert("real")
	for _, way := range []string{"any", "topic", "nearest", "furthest"} {
		for _, share := range []float64{0.5, 0.05, 0.005, 0.0005} {
			size := max(1, int(share*float64(n)))
			found, wanted := 0, 0
			for q, question := range questions {
				c := conditions.Condition{Field: way, Lt: new(conditions.Number(float64(size)))}
				switch way {
				case "nearest":
					c.Field = fmt.Sprint("question", q)
				case "furthest":
					c = conditions.Condition{Field: fmt.Sprint("question", q), Gte: new(conditions.Number(float64(n - size)))}
				}
				where, wrong := c.Compile(nil)
				if wrong != nil {
					t.Fatal(wrong)
				}
				s, err := g.SelectWhere(Condition{Fields: where})
				if err != nil || s.Len() != size {
					t.Fatal(s.Len(), size, err)
				}
				var meet []float64
				for i := range metadata {
					if where.Matches(nil, metadata[i]) {
						meet = append(meet, similar[q][i])
					}
				}
				slices.SortFunc(meet, func(a, b float64) int { return cmp.Compare(b, a) })
				meet = meet[:min(10, len(meet))]
				hits, err := vectors.Among(s).Search(t.Context(), question, 10, false)
				if err != nil {
					t.Fatal(err)
				}
				for _, h := range hits {
					p, err := g.Passage(h.Ordinal)
					if err != nil {
						t.Fatal(err)
					}
					i, err := strconv.Atoi(p.ID)
					if err != nil || !where.Matches(nil, metadata[i]) {
						t.Fatalf("%s does not meet %s, %v", p.ID, way, err)
					}
					if similar[q][i] >= meet[len(meet)-1]-1e-4 {
						found++
					}
				}
				wanted += len(meet)
			}
			recall := float64(found) / float64(wanted)
			t.Logf("%s, %g %%: recall@10 %.4f", way, 100*share, recall)
			if recall < 0.98 {
				t.Errorf("%s, %g %%: recall@10 is %.4f", way, 100*share, recall)
			}
		}
	}
}
