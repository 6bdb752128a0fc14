package server

import (
	"testing"

	"example.org/conclave/encoder"
	"example.org/conclave/store/folder"
)

// TestUnnormalised: a collection keeps the way in which its vectors were made.
func TestUnnormalised(t *testing.T) {
	old, normalised := folder.ExpertFiles{Fingerprint: "ab12"}, folder.ExpertFiles{Fingerprint: encoder.Normalised("ab12")}
	for _, c := range []struct {
		stored []folder.ExpertFiles
		want   bool
	}{
		{nil, false},
		{[]folder.ExpertFiles{normalised}, false},
		{[]folder.ExpertFiles{old}, true},
		{[]folder.ExpertFiles{normalised, {Fingerprint: "ab12+granules-1:3"}}, true},
		{[]folder.ExpertFiles{{Fingerprint: encoder.Normalised("ab12") + "+granules-1:3"}}, false},
	} {
		if got := unnormalised(c.stored); got != c.want {
			t.Errorf("%+v: %t, want %t", c.stored, got, c.want)
		}
	}
}
