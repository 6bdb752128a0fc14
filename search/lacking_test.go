package search

import (
	"strings"
	"testing"

	"example.org/conclave/search/internal/sources"
)

// TestLackingMethods: what nobody can be sure by, and what helps; methods that can do without
// ensembles are not named.
func TestLackingMethods(t *testing.T) {
	base := sources.ExpertInfo{Name: "base", Kind: "dense"}
	late := sources.ExpertInfo{Name: "late", Kind: "late"}
	unsure := sources.ExpertInfo{Name: "health", Kind: "dense", EnsembleMembers: 10}
	sure := unsure
	sure.Calibration = &sources.CalibrationInfo{}
	for name, x := range map[string]struct {
		experts []sources.ExpertInfo
		want    []string
	}{
		"none with an ensemble": {
			[]sources.ExpertInfo{base, late},
			[]string{"muf, muf-sparse cannot rank", "(base)", "calibrating gives them none", "a specialist"},
		},
		"none that is calibrated": {
			[]sources.ExpertInfo{base, unsure},
			[]string{"muf, muf-sparse cannot rank", "ensembles of health are not calibrated"},
		},
		"one is sure": {[]sources.ExpertInfo{base, sure}, nil},
		"words alone": {[]sources.ExpertInfo{late}, nil},
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
