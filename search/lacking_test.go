package search

import (
	"strings"
	"testing"

	"example.org/conclave/search/learned"
)

// TestLackingMethods: what nobody can be sure by, and what helps; methods that can do without
// ensembles are not named.
func TestLackingMethods(t *testing.T) {
	base := learned.ExpertInfo{Name: "base", Kind: "dense"}
	late := learned.ExpertInfo{Name: "late", Kind: "late"}
	unsure := learned.ExpertInfo{Name: "health", Kind: "dense", EnsembleMembers: 10}
	sure := unsure
	sure.Calibration = &learned.CalibrationInfo{}
	for name, x := range map[string]struct {
		experts []learned.ExpertInfo
		want    []string
	}{
		"none with an ensemble": {
			[]learned.ExpertInfo{base, late},
			[]string{"muf, muf-sparse cannot rank", "(base)", "calibrating gives them none", "a specialist"},
		},
		"none that is calibrated": {
			[]learned.ExpertInfo{base, unsure},
			[]string{"muf, muf-sparse cannot rank", "ensembles of health are not calibrated"},
		},
		"one is sure": {[]learned.ExpertInfo{base, sure}, nil},
		"words alone": {[]learned.ExpertInfo{late}, nil},
	} {
		got := LackingMethods(x.experts)
		if (got == "") != (x.want == nil) {
			t.Errorf("%s: %q", name, got)
		}
		for _, part := range x.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q does not say %q", name, got, part)
			}
		}
	}
}
