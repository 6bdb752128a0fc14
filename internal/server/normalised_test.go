package server

import (
	"testing"

	"example.org/conclave/encoder"
	"example.org/conclave/store"
)

// TestUnnormalised: a collection keeps the way in which its vectors were made.
func TestUnnormalised(t *testing.T) {
	old, normalised := store.ExpertFiles{Fingerprint: "ab12"}, store.ExpertFiles{Fingerprint: encoder.Normalised("ab12")}
	for _, c := range []struct {
		stored []store.ExpertFiles
		want   bool
	}{
		{nil, false},
		{[]store.ExpertFiles{normalised}, false},
		{[]store.ExpertFiles{old}, true},
		{[]store.ExpertFiles{normalised, {Fingerprint: "ab12+granules-1:3"}}, true},
		{[]store.ExpertFiles{{Fingerprint: encoder.Normalised("ab12") + "+granules-1:3"}}, false},
	} {
		if got := unnormalised(c.stored); got != c.want {
			t.Errorf("%+v: %t, want %t", c.stored, got, c.want)
		}
	}
}
