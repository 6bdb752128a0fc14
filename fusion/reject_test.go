package fusion

import (
	"math"
	"strings"
	"testing"

	"example.org/conclave/internal/rank"
)

func TestBadLists(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, bad := range []struct {
		name string
		hits []rank.Hit
		says string
	}{
		{"infinity", []rank.Hit{{Ordinal: 1, Score: inf}}, "source 1: the score at rank 1 (passage 1) is +Inf"},
		{"minus infinity", []rank.Hit{{Ordinal: 1, Score: 2}, {Ordinal: 3, Score: -inf}}, "is -Inf"},
		{"not a number", []rank.Hit{{Ordinal: 1, Score: nan}}, "is NaN"},
		{"out of order", []rank.Hit{{Ordinal: 1, Score: 1}, {Ordinal: 2, Score: 2}}, "belongs before"},
		{"twice, neighbours", []rank.Hit{{Ordinal: 2, Score: 1}, {Ordinal: 2, Score: 1}}, "passage 2 is at rank 1 and again at rank 2"},
		{"twice, apart", []rank.Hit{{Ordinal: 2, Score: 3}, {Ordinal: 4, Score: 2}, {Ordinal: 2, Score: 1}}, "at rank 1 and again at rank 3"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			c := new(Candidates)
			err := c.Reset([][]rank.Hit{{{Ordinal: 0, Score: 1}}, bad.hits})
			if err == nil || !strings.Contains(err.Error(), bad.says) {
				t.Errorf("error %v, want one that says %q", err, bad.says)
			}
			// The table can be used again.
			if err := c.Reset([][]rank.Hit{{{Ordinal: 5, Score: 1}}}); err != nil || c.Len() != 1 {
				t.Errorf("after an error: %v, %d candidates", err, c.Len())
			}
		})
	}
}

func TestBadCompletion(t *testing.T) {
	c := table(t, []rank.Hit{{Ordinal: 1, Score: 2}}, []rank.Hit{{Ordinal: 4, Score: 3}})
	for _, scores := range [][]float32{nil, {1, 2}, {float32(math.Inf(1))}, {float32(math.NaN())}} {
		if err := c.Complete(0, scores); err == nil {
			t.Errorf("exact scores %v for one missing: no error", scores)
		}
	}
	if got := c.Missing(0, nil); len(got) != 1 || got[0] != 4 {
		t.Errorf("after the errors, missing: %v, want 4 as before", got)
	}
	if err := c.Complete(0, []float32{1}); err != nil {
		t.Error(err)
	}
	// Where the true scores of a source were not to be had, its lowest serves.
	r, err := Sum(c, []Source{{0, 1}, {1, 1}}, LinearOptions{Missing: Exact}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Items[0].Parts[1]; got.Origin != FromMin || got.Score != 3 {
		t.Errorf("the second source's part: %+v, want its lowest", got)
	}
}

func TestBadArguments(t *testing.T) {
	c := table(t, []rank.Hit{{Ordinal: 1, Score: 2}}, []rank.Hit{{Ordinal: 4, Score: 3}})
	for name, sources := range map[string][]Source{
		"no such column": {{2, 1}}, "negative column": {{-1, 1}}, "twice": {{0, 1}, {0, 1}},
		"negative weight": {{0, -1}}, "infinite weight": {{0, math.Inf(1)}}, "no number": {{0, math.NaN()}},
		"huge weight": {{0, 2 * MaxWeight}},
	} {
		for _, m := range methods() {
			if strings.HasPrefix(m.name, "hybrid") {
				continue // its wrapper here picks columns
			}
			if _, err := m.fuse(c, sources, 5); err == nil {
				t.Errorf("%s, %s: no error", name, m.name)
			}
		}
		if _, err := Hybrid(c, sources, -1, 0, LinearOptions{}, 5); err == nil {
			t.Errorf("%s, hybrid: no error", name)
		}
	}
	one := []Source{{0, 1}}
	for _, alpha := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := Hybrid(c, one, 1, alpha, LinearOptions{}, 5); err == nil {
			t.Errorf("alpha %v: no error", alpha)
		}
	}
	if _, err := Hybrid(c, one, 0, 0, LinearOptions{}, 5); err == nil {
		t.Error("BM25 among the experts: no error")
	}
	for _, o := range []LinearOptions{{Normalisation: "softmax"}, {Missing: "zero"}} {
		_, err := Sum(c, one, o, 5)
		if err == nil || !strings.Contains(err.Error(), "are known") {
			t.Errorf("options %+v: error %v, want the known ones named", o, err)
		}
	}
	for _, temperature := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := MutualInformation([]float32{1, 2}, 2, temperature); err == nil {
			t.Errorf("temperature %v: no error", temperature)
		}
	}
	for _, scores := range [][]float32{{1, 2, 3}, {1, float32(math.NaN())}, {float32(math.Inf(1)), 0},
		{float32(math.Inf(-1)), 0}} {
		if _, err := MutualInformation(scores, 2, 1); err == nil && len(scores) > 2 {
			t.Errorf("scores %v of 2 members: no error", scores)
		}
		if _, err := MutualInformation(scores, 1, 1); err == nil && len(scores) == 2 {
			t.Errorf("scores %v of 1 member: no error", scores)
		}
	}
	if _, err := MutualInformation(nil, 0, 1); err == nil {
		t.Error("no members: no error")
	}
}

// TestDegenerate: nothing, and next to nothing, has an answer.
func TestDegenerate(t *testing.T) {
	for _, m := range methods() {
		for _, lists := range [][][]rank.Hit{{nil}, {nil, nil}, {{{Ordinal: 3, Score: 0}}, nil}} {
			c := table(t, lists...)
			var sources []Source
			for i := range lists {
				sources = append(sources, Source{Column: i})
			}
			r, err := m.fuse(c, sources, 5)
			if err != nil {
				t.Fatalf("%s: %v", m.name, err)
			}
			checkRanking(t, r)
			if len(r.Items) != c.Len() {
				t.Errorf("%s of %v: %d items", m.name, lists, len(r.Items))
			}
		}
		if r, err := m.fuse(table(t), nil, 5); err != nil || len(r.Items) != 0 {
			t.Errorf("%s of no source: %v, %v", m.name, r.Items, err)
		}
	}
	// A list without hits has no lowest score, and adds nothing whatever the
	// scale.
	for _, n := range Normalisations() {
		c := table(t, []rank.Hit{{Ordinal: 3, Score: 2}}, nil)
		r, err := Sum(c, []Source{{0, 1}, {1, 1}}, LinearOptions{Normalisation: n, Missing: Min}, 5)
		if err != nil || r.Items[0].Parts[1].Origin != FromNone || r.Items[0].Parts[1].Contribution != 0 {
			t.Errorf("%s with an empty list: %+v, %v", n, r.Items, err)
		}
	}
	for members, want := range map[int]float64{0: 0, 1: 0, 2: 1} {
		if got := Confidence(0, members); got != want {
			t.Errorf("confidence of %d members: %v, want %v", members, got, want)
		}
	}
	if information, err := MutualInformation(nil, 4, 1); err != nil || information != 0 {
		t.Errorf("no hits: %v, %v", information, err)
	}
}

// TestSubset: a method sees only what its own sources found.
func TestSubset(t *testing.T) {
	c := table(
		t, []rank.Hit{{Ordinal: 1, Score: 2}}, []rank.Hit{{Ordinal: 4, Score: 3}}, []rank.Hit{{Ordinal: 7, Score: 1}},
	)
	for i, want := range []rank.Ordinal{1, 4, 7} {
		for _, fuse := range []func() (Ranking, error){
			func() (Ranking, error) { return MUF(c, []Source{{i, 1}}, LinearOptions{Missing: Min}, 9) },
			func() (Ranking, error) { return RRF(c, []Source{{i, 1}}, 9) },
			func() (Ranking, error) { return Hybrid(c, []Source{{i, 1}}, -1, 0, LinearOptions{}, 9) },
			func() (Ranking, error) { return Hybrid(c, nil, i, 1, LinearOptions{}, 9) },
		} {
			r, err := fuse()
			if err != nil || len(r.Items) != 1 || r.Items[0].Ordinal != want {
				t.Errorf("source %d alone: %+v, %v", i, r.Items, err)
			}
		}
	}
}
