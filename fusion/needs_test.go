package fusion

import (
	"slices"
	"testing"
)

// TestNeeds states, by hand from docs/fusion.md, what each method cannot do without.
func TestNeeds(t *testing.T) {
	sure, unsure, granule := Ability{Sure: true}, Ability{}, Ability{Granular: true}
	full := Offer{
		Words:       true,
		Experts:     []Ability{sure, sure, granule},
		Gate:        true,
		Chances:     true,
		Surest:      true,
		Temperature: true,
	}
	change := func(do func(*Offer)) Offer { o := full; do(&o); return o }
	for name, c := range map[string]struct {
		offer Offer
		lacks map[string][]Lack
	}{
		"all that there is": {full, nil},
		"no BM25":           {change(func(o *Offer) { o.Words = false }), map[string][]Lack{MethodHybrid: {LacksWords}}},
		"no experts": {change(func(o *Offer) { o.Experts = nil }), map[string][]Lack{
			MethodMUF: {LacksExperts}, MethodMUFSparse: {LacksExperts}, MethodHybrid: {LacksExperts},
			MethodCCE: {LacksExperts, LacksGranularities},
		}},
		"no gate": {change(func(o *Offer) { o.Gate = false }), map[string][]Lack{MethodGate: {LacksGate}}},
		"nobody is sure": {change(func(o *Offer) { o.Experts = []Ability{unsure, granule} }), map[string][]Lack{
			MethodMUF: {LacksConfidences}, MethodMUFSparse: {LacksConfidences},
		}},
		"nobody is sure, and scores tell nothing": {
			change(func(o *Offer) {
				o.Experts = []Ability{unsure, granule}
				o.Temperature = false
			}),
			map[string][]Lack{
				MethodMUF: {LacksConfidences}, MethodMUFSparse: {LacksConfidences}, MethodHybrid: {LacksConfidences},
			},
		},
		"one expert that is not sure": {change(func(o *Offer) { o.Experts = []Ability{granule} }), map[string][]Lack{
			MethodMUF: {LacksConfidences}, MethodMUFSparse: {LacksConfidences},
		}},
		"no granularity": {change(func(o *Offer) { o.Experts = []Ability{sure} }), map[string][]Lack{
			MethodCCE: {LacksGranularities},
		}},
		"experts by name": {
			change(func(o *Offer) {
				o.Experts = []Ability{sure}
				o.Named = true
			}), nil,
		},
	} {
		for _, m := range Methods() {
			if got := m.Lacks(c.offer); !slices.Equal(got, c.lacks[m.Name]) {
				t.Errorf("%s: %s lacks %v, want %v", name, m.Name, got, c.lacks[m.Name])
			}
		}
	}
}

// TestExcludes: an expert is left out by a method that weighs by confidence and does not know
// it, and by cce where it is no granularity; nobody else leaves one out.
func TestExcludes(t *testing.T) {
	sure, unsure, granule := Ability{Sure: true}, Ability{}, Ability{Granular: true}
	o := Offer{Words: true, Experts: []Ability{sure, unsure, granule}, Temperature: true}
	want := map[string][]Exclusion{
		MethodMUF: {
			Included,
			NotSure,
			NotSure,
		}, MethodMUFSparse: {Included, NotSure, NotSure}, MethodHybrid: {Included, NotSure, NotSure},
		MethodCCE: {NotGranular, NotGranular, Included},
	}
	for _, m := range Methods() {
		for i, x := range o.Experts {
			expected := Included
			if list := want[m.Name]; list != nil {
				expected = list[i]
			}
			if got := m.Excludes(o, x); got != expected {
				t.Errorf("%s: expert %d: %v, want %v", m.Name, i, got, expected)
			}
		}
	}
	hybrid, _ := MethodNamed(MethodHybrid)
	o.Experts = []Ability{unsure, granule}
	if hybrid.Excludes(o, unsure) != Included {
		t.Error("where nobody is sure, hybrid goes by scores")
	}
}

// TestOptions states which method takes which option, as docs/fusion.md does.
func TestOptions(t *testing.T) {
	for option, want := range map[Option][]string{
		OptionMissing:       {MethodMUF, MethodHybrid, MethodSum, MethodGate, MethodCCE},
		OptionWeights:       {MethodHybrid, MethodSum, MethodRRF},
		OptionExpertWeights: {MethodSum, MethodRRF},
		OptionNormalisation: {MethodMUF, MethodHybrid, MethodSum},
		OptionSharpness:     {MethodMUF, MethodHybrid, MethodCCE},
		OptionTemperature:   {MethodHybrid, MethodCCE},
		OptionLate:          {MethodGate},
		"colour":            nil,
	} {
		if got := MethodNames(func(m Method) bool { return m.Takes(option) }); !slices.Equal(got, want) {
			t.Errorf("%s is taken by %v, want %v", option, got, want)
		}
	}
}
