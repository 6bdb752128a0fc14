package fusion

import (
	"slices"
	"testing"
)

func TestMostFamiliar(t *testing.T) {
	sources := []ObservedSource{
		{Column: 0, Kind: Base},
		{Column: 1, Kind: Specialist, Familiarity: .3},
		{Column: 2, Kind: Specialist, Familiarity: .5},
		{Column: 3, Kind: Generalist},
		{Column: 4, Kind: Specialist, Familiarity: .3},
		{Column: 5, Kind: Specialist, Familiarity: .1},
		{Column: 6, Kind: Lexical},
	}
	for _, c := range []struct {
		most int
		want []int
	}{
		{0, []int{0, 3, 6}},
		{1, []int{0, 2, 3, 6}},
		{2, []int{0, 1, 2, 3, 6}}, // of the two with .3 the first
		{3, []int{0, 1, 2, 3, 4, 6}},
		{4, []int{0, 1, 2, 3, 4, 5, 6}},
		{9, []int{0, 1, 2, 3, 4, 5, 6}},
	} {
		var got []int
		for _, s := range MostFamiliar(sources, c.most) {
			got = append(got, s.Column)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("the %d most familiar: %v, want %v", c.most, got, c.want)
		}
	}
}
