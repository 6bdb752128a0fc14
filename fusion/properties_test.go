package fusion

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"example.org/conclave/internal/rank"
	"example.org/conclave/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	testenv.SameDraws()
	m.Run()
}

// world is what sources know: a true score of every passage for each, of which
// each returns its best few. Scores are small whole numbers, so that equal
// ones are common and plain sums are exact.
type world struct {
	truth   [][]float32 // by source and ordinal
	depth   []int       // hits that each source returns
	weights []float64
}

func drawWorld(t *rapid.T, most int) world {
	passages := rapid.IntRange(1, 12).Draw(t, "passages")
	w := world{}
	for range rapid.IntRange(1, most).Draw(t, "sources") {
		w.truth = append(
			w.truth,
			rapid.SliceOfN(rapid.Map(rapid.IntRange(-5, 20), func(i int) float32 { return float32(i) }), passages, passages).
				Draw(t, "scores"),
		)
		w.depth = append(w.depth, rapid.IntRange(0, passages).Draw(t, "depth"))
		w.weights = append(w.weights, float64(rapid.IntRange(0, 4).Draw(t, "weight"))/4)
	}
	return w
}

func (w world) lists() [][]rank.Hit {
	lists := make([][]rank.Hit, len(w.truth))
	for i, scores := range w.truth {
		top := rank.NewTopK(w.depth[i])
		for ordinal, score := range scores {
			top.Push(rank.Hit{Ordinal: rank.Ordinal(ordinal), Score: score})
		}
		lists[i] = top.Sorted()
	}
	return lists
}

// candidates returns the table, with the true scores where complete says so.
func (w world) candidates(t testing.TB, complete bool) *Candidates {
	t.Helper()
	c := table(t, w.lists()...)
	for i := 0; complete && i < len(w.truth); i++ {
		var scores []float32
		for _, ordinal := range c.Missing(i, nil) {
			scores = append(scores, w.truth[i][ordinal])
		}
		if err := c.Complete(i, scores); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (w world) sources() []Source {
	var sources []Source
	for i, weight := range w.weights {
		sources = append(sources, Source{i, weight})
	}
	return sources
}

// methods are all of them, with every option, as functions of a table.
type method struct {
	name string
	fuse func(c *Candidates, sources []Source, k int) (Ranking, error)
}

func methods() []method {
	ms := []method{{"rrf", RRF}, {"muf-sparse", MUFSparse}}
	for _, missing := range []Missing{Exact, Min, None} {
		for _, n := range Normalisations() {
			o := LinearOptions{Normalisation: n, Missing: missing}
			name := string(n) + " " + string(missing)
			ms = append(ms,
				method{"sum " + name, func(c *Candidates, s []Source, k int) (Ranking, error) { return Sum(c, s, o, k) }},
				method{"muf " + name, func(c *Candidates, s []Source, k int) (Ranking, error) { return MUF(c, s, o, k) }},
				method{"hybrid " + name, func(c *Candidates, s []Source, k int) (Ranking, error) {
					// The source in the highest column plays BM25, wherever it stands.
					lexical := len(s) - 1
					experts := slices.DeleteFunc(slices.Clone(s), func(x Source) bool { return x.Column == lexical })
					return Hybrid(c, experts, lexical, .75, LinearOptions{Normalisation: n, Missing: missing}, k)
				}})
		}
	}
	return ms
}

// TestOrderOfSourcesDoesNotMatter: to the last bit of every score.
func TestOrderOfSourcesDoesNotMatter(t *testing.T) {
	for _, m := range methods() {
		t.Run(m.name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				w := drawWorld(rt, 5)
				for i := range w.truth { // scores that do not add up exactly
					for j := range w.truth[i] {
						w.truth[i][j] *= .1
					}
				}
				c := w.candidates(t, true)
				r, err := m.fuse(c, w.sources(), 100)
				if err != nil {
					rt.Fatal(err)
				}
				shuffled, err := m.fuse(c, rapid.Permutation(w.sources()).Draw(rt, "order"), 100)
				if err != nil {
					rt.Fatal(err)
				}
				if !sameItems(r, shuffled) {
					rt.Fatalf("in order: %+v\nshuffled: %+v", r.Items, shuffled.Items)
				}
			})
		})
	}
}

// TestOrderOfColumnsDoesNotMatter: nor does the order of the lists in the
// table. (The sparse method breaks ties by column, the hybrid has one with a
// role of its own.)
func TestOrderOfColumnsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt, 5)
		order := rapid.Permutation([]int{0, 1, 2, 3, 4}[:len(w.truth)]).Draw(rt, "order")
		var other world
		for _, i := range order {
			other.truth, other.depth = append(other.truth, w.truth[i]), append(other.depth, w.depth[i])
			other.weights = append(other.weights, w.weights[i])
		}
		complete, sharpness := rapid.Bool().
			Draw(rt, "complete"),
			rapid.SampledFrom([]float64{0, .5, 3, MaxSharpness}).
				Draw(rt, "sharpness")
		for _, missing := range []Missing{Exact, Min, None} {
			for _, n := range Normalisations() {
				a, errA := MUF(w.candidates(t, complete), w.sources(), LinearOptions{n, missing, sharpness}, 100)
				b, errB := MUF(other.candidates(t, complete), other.sources(), LinearOptions{n, missing, sharpness}, 100)
				if errA != nil || errB != nil || !sameItems(a, b) {
					rt.Fatalf("%s %s: %v %v\n%+v\n%+v", n, missing, errA, errB, a.Items, b.Items)
				}
			}
		}
	})
}

func sameItems(a, b Ranking) bool {
	return slices.EqualFunc(a.Items, b.Items, func(x, y Item) bool { return x.Ordinal == y.Ordinal && x.Score == y.Score })
}

// TestBetterRankNeverHurts raises a passage's true score in one source and
// looks whether any other passage overtakes it.
func TestBetterRankNeverHurts(t *testing.T) {
	for _, m := range []method{
		{"raw, exact", func(c *Candidates, s []Source, k int) (Ranking, error) { return Sum(c, s, LinearOptions{}, k) }},
		{"minmax, exact", func(c *Candidates, s []Source, k int) (Ranking, error) {
			return Sum(c, s, LinearOptions{Normalisation: MinMax}, k)
		}},
		{"minmax, min", func(c *Candidates, s []Source, k int) (Ranking, error) {
			return Sum(c, s, LinearOptions{Normalisation: MinMax, Missing: Min}, k)
		}},
		{"minmax, none", func(c *Candidates, s []Source, k int) (Ranking, error) {
			return Sum(c, s, LinearOptions{Normalisation: MinMax, Missing: None}, k)
		}},
		{"rrf", RRF},
	} {
		t.Run(m.name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				w := drawWorld(rt, 4)
				c := w.candidates(t, true)
				before, err := m.fuse(c, w.sources(), 100)
				if err != nil {
					rt.Fatal(err)
				}
				if len(before.Items) == 0 {
					return
				}
				source := rapid.IntRange(0, len(w.truth)-1).Draw(rt, "source")
				item := rapid.SampledFrom(before.Items).Draw(rt, "item")
				if missing := item.Parts[source].Origin != FromHit; missing && m.name != "raw, exact" && m.name != "rrf" {
					// A new hit of a list that is not full is no better rank: it
					// moves the lowest score, which the others are measured by.
					return
				}
				w.truth[source][item.Ordinal] += float32(rapid.IntRange(1, 12).Draw(rt, "by"))
				after, err := m.fuse(w.candidates(t, true), w.sources(), 100)
				if err != nil {
					rt.Fatal(err)
				}
				scores := map[rank.Ordinal]float64{}
				for _, x := range after.Items {
					scores[x.Ordinal] = x.Score
				}
				for _, other := range before.Items {
					score, still := scores[other.Ordinal]
					ahead := item.Score > other.Score || item.Score == other.Score && item.Ordinal < other.Ordinal
					// Rounding may part what was equal.
					if other.Ordinal != item.Ordinal && still && ahead && scores[item.Ordinal] < score-1e-12 {
						rt.Fatalf("passage %d rose in source %d and fell behind %d:\nbefore %+v\nafter %+v",
							item.Ordinal, source, other.Ordinal, before.Items, after.Items)
					}
				}
			})
		})
	}
}

// TestRankings checks what must hold of every ranking, with lists that are
// empty, of one hit, of equal scores, and weights that are all zero.
func TestRankings(t *testing.T) {
	for _, m := range methods() {
		t.Run(m.name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				w := drawWorld(rt, 4)
				if rapid.Bool().Draw(rt, "equal scores") {
					for i := range w.truth[0] {
						w.truth[0][i] = 7
					}
				}
				c := w.candidates(t, rapid.Bool().Draw(rt, "complete"))
				k := rapid.IntRange(0, 15).Draw(rt, "k")
				r, err := m.fuse(c, w.sources(), k)
				if err != nil {
					rt.Fatal(err)
				}
				checkRanking(rt, r)
				if len(r.Items) > k || m.name != "muf-sparse" && len(r.Items) != min(k, c.Len()) {
					rt.Fatalf("%d items of %d candidates for k %d", len(r.Items), c.Len(), k)
				}
				all, err := m.fuse(c, w.sources(), c.Len())
				if err != nil || !sameItems(r, Ranking{Items: all.Items[:len(r.Items)]}) {
					rt.Fatalf("the first %d of all: %v %+v\nasked for: %+v", k, err, all.Items, r.Items)
				}
				seen := map[rank.Ordinal]bool{}
				for _, item := range r.Items {
					if seen[item.Ordinal] {
						rt.Fatalf("passage %d is there twice", item.Ordinal)
					}
					seen[item.Ordinal] = true
				}
			})
		})
	}
}

// TestConfidenceBounds: between 0 and 1, and the same whatever the order of
// members, the order of hits, or a number added to all scores of a member.
func TestConfidenceBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		members, hits := rapid.IntRange(1, 6).Draw(rt, "members"), rapid.IntRange(1, 8).Draw(rt, "hits")
		scores := rapid.SliceOfN(rapid.Float32Range(-90, 90), members*hits, members*hits).Draw(rt, "scores")
		temperature := rapid.SampledFrom([]float64{1e-3, .05, 1, 30}).Draw(rt, "temperature")
		information, err := MutualInformation(scores, members, temperature)
		if err != nil {
			rt.Fatal(err)
		}
		confidence := Confidence(information, members)
		if !(confidence >= 0 && confidence <= 1) || math.IsNaN(information) {
			rt.Fatalf("confidence %v, mutual information %v", confidence, information)
		}
		if want := naiveInformation(scores, members, temperature); math.Abs(information-want) > 1e-9 {
			rt.Fatalf("mutual information %v, the sum written out %v", information, want)
		}
		orderM := rapid.Permutation(slices.Collect(numbers(members))).Draw(rt, "order of members")
		orderH := rapid.Permutation(slices.Collect(numbers(hits))).Draw(rt, "order of hits")
		var other []float32
		for _, m := range orderM {
			for _, h := range orderH {
				other = append(other, scores[m*hits+h])
			}
		}
		if again, err := MutualInformation(other, members, temperature); err != nil || math.Abs(again-information) > 1e-9 {
			rt.Fatalf("shuffled %v (%v), in order %v", again, err, information)
		}
	})
}

func numbers(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// naiveInformation returns equation 4 written out, with the smoothing.
func naiveInformation(scores []float32, members int, temperature float64) float64 {
	hits := len(scores) / members
	p := make([][]float64, members)
	for m := range p {
		p[m] = make([]float64, hits)
		sum := 0.0
		highest := float64(slices.Max(scores[m*hits : (m+1)*hits]))
		for h := range p[m] {
			p[m][h] = math.Exp((float64(scores[m*hits+h]) - highest) / temperature)
			sum += p[m][h]
		}
		for h := range p[m] {
			p[m][h] /= sum
		}
	}
	information := 0.0
	for h := range hits {
		mean := 0.0
		for m := range p {
			mean += p[m][h] / float64(members)
		}
		information -= mean * math.Log(mean+1e-6)
		for m := range p {
			information += p[m][h] * math.Log(p[m][h]+1e-6) / float64(members)
		}
	}
	return information
}
