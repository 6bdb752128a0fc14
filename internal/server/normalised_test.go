package serving

import (
	"testing"

	"conclave/collection"
	"conclave/encoder"
)

// TestUnnormalised: a collection keeps the way in which its vectors were made.
func TestUnnormalised(t *testing.T) {
	old, normalised := collection.ExpertFiles{Fingerprint: "ab12"}, collection.ExpertFiles{Fingerprint: encoder.Normalised("ab12")}
	for _, c := range []struct {
		stored []collection.ExpertFiles
		want   bool
	}{
		{nil, false},
		{[]collection.ExpertFiles{normalised}, false},
		{[]collection.ExpertFiles{old}, true},
		{[]collection.ExpertFiles{normalised, {Fingerprint: "ab12+granules-1:3"}}, true},
		{[]collection.ExpertFiles{{Fingerprint: encoder.Normalised("ab12") + "+granules-1:3"}}, false},
	} {
		if got := unnormalised(c.stored); got != c.want {
			t.Errorf("%+v: %t, want %t", c.stored, got, c.want)
		}
	}
}
