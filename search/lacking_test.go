package search

import (
	"strings"
	"testing"
)

// TestLackingMethods: what nobody can be sure by, and what helps; methods that can do without
// ensembles are not named.
func TestLackingMethods(t *testing.T) {
	base := ExpertInfo{Name: "base", Kind: "dense"}
	late := ExpertInfo{Name: "late", Kind: "late"}
	unsure := ExpertInfo{Name: "health", Kind: "dense", EnsembleMembers: 10}
	sure := unsure
	sure.Calibration = &CalibrationInfo{}
	for name, x := range map[string]struct {
		experts []ExpertInfo
		want    []string
	}{
		"none with an ensemble": {
			[]ExpertInfo{base, late},
			[]string{"muf, muf-sparse cannot rank", "(base)", "calibrating gives them none", "a specialist"},
		},
		"none that is calibrated": {
			[]ExpertInfo{base, unsure},
			[]string{"muf, muf-sparse cannot rank", "ensembles of health are not calibrated"},
		},
		"one is sure": {[]ExpertInfo{base, sure}, nil},
		"words alone": {[]ExpertInfo{late}, nil},
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
