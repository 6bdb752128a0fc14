package calibration

import (
	"maps"
	"slices"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
)

// TestGeneratedAreAnsweredByWhatHoldsThem: by the passages that have all that was drawn;
// what else the question says does not matter.
func TestGeneratedAreAnsweredByWhatHoldsThem(t *testing.T) {
	var table fusion.Candidates
	if err := table.Reset([][]rank.Hit{{{Ordinal: 3, Score: 3}, {Ordinal: 5, Score: 2},
		{Ordinal: 8, Score: 1}}}); err != nil {
		t.Fatal(err)
	}
	sets := map[rank.Ordinal]uint64{3: 0b0110, 5: 0b1110, 8: 0b1011}
	q := Question{Table: &table, Wording: fusion.Wording{Keys: fusion.Keys{
		List: []fusion.Key{{Text: "who"}, {Text: "Ana"}, {Text: "Peña?"}, {Text: "has"}},
		Held: func(o rank.Ordinal) uint64 { return sets[o] },
	}}}
	for drawn, want := range map[string][]rank.Ordinal{"Ana Peña": {3, 5}, "Ana": {3, 5, 8}, "of Peña": {3, 5},
		"elsewhere": nil} {
		q.drawn = drawn
		q.hold()
		if got := slices.Sorted(maps.Keys(q.Relevant)); !slices.Equal(got, want) {
			t.Errorf("%q is answered by %v, want %v", drawn, got, want)
		}
	}
}

// TestGeneratedWeigh: they count so much, and are in no figure.
func TestGeneratedWeigh(t *testing.T) {
	answers := []RankedQuestion{{}, {}, {Without: TakenOut}, {Without: TakenOut}, {Without: There}, {Without: Absent},
		{Without: Absent}}
	sums := map[Without]float64{}
	for _, a := range mixed(answers) {
		sums[a.Without] += a.Weight
	}
	if want := map[Without]float64{Answerable: 2, TakenOut: 2, There: 2 * generatedShare,
		Absent: 2 * generatedShare}; !maps.Equal(sums, want) {
		t.Errorf("weights %v, want %v", sums, want)
	}
	for _, w := range []Without{There, Absent, Nonsense} {
		if w.measured() {
			t.Errorf("%q is measured", w)
		}
	}
}
