package pools

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"example.org/conclave/calibration"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
)

// Two granularities of thirty questions in two domains. The first is right and sure in
// domain x and wrong and unsure in y; the second the other way round. So each alone is
// right in half of the questions, and the surest always.
func TestMeasure(t *testing.T) {
	e := &calibration.Evidence{Sources: []string{"base", "base@1", "bm25"}}
	hits := func(right bool, lead float32) []rank.Hit {
		first, second := rank.Ordinal(1), rank.Ordinal(0)
		if right {
			first, second = second, first
		}
		return []rank.Hit{{Ordinal: first, Score: .5 + lead}, {Ordinal: second, Score: .5}}
	}
	for i := range 30 {
		x := i%2 == 0
		lead := [2]float32{.01, .3}
		if x {
			lead = [2]float32{.3, .01}
		}
		q := calibration.Question{
			ID:       fmt.Sprint(i),
			Domain:   map[bool]string{true: "x", false: "y"}[x],
			Table:    new(fusion.Candidates),
			Relevant: map[rank.Ordinal]float64{0: 1},
			Sources: []fusion.ObservedSource{
				{Column: 0, Kind: fusion.Base, Granular: true},
				{Column: 1, Kind: fusion.Generalist, Granular: true},
				{Column: 2, Kind: fusion.Lexical},
			},
		}
		if err := q.Table.Reset([][]rank.Hit{hits(x, lead[0]), hits(!x, lead[1]), hits(i < 3, 1)}); err != nil {
			t.Fatal(err)
		}
		e.Questions = append(e.Questions, q)
	}
	r, err := Measure(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][4]float64{
		"base":   {.5, .5, 1, 0},
		"base@1": {.5, .5, 0, 1},
		"bm25":   {.1, .1, 2. / 15, 1. / 15},
		"CCE of base, base@1, calibrated on other folds": {1, 1, 1, 1},
	}
	for _, row := range r.Rows {
		w, ok := want[row.Method]
		if got := [4]float64{row.All, row.Mean, row.Domains[0], row.Domains[1]}; ok {
			for i := range w {
				if math.Abs(got[i]-w[i]) > 1e-9 {
					t.Errorf("%s: %v, want %v", row.Method, got, w)
				}
			}
			delete(want, row.Method)
		}
	}
	if len(want) > 0 {
		t.Errorf("without rows for %v", want)
	}
	if set := r.Sets[0]; r.Best != "base" || set.P > .01 || math.Abs(set.Regret) > 1e-9 || set.CCE.Top1 != 1 {
		t.Errorf("against %s: p %v, regret %v, top-1 %v", r.Best, set.P, set.Regret, set.CCE.Top1)
	}
	for _, among := range [][]string{{"base"}, {"base", "bm25"}} {
		if _, err := Measure(context.Background(), e, among); err == nil {
			t.Errorf("%v: accepted", among)
		}
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "CCE of base, base@1 against base") {
		t.Errorf("%v\n%s", err, &text)
	}
}
