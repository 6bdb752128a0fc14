package experts

import (
	"testing"

	"example.org/conclave/encoder"
	"example.org/conclave/store"
)

// TestUnnormalised: a collection keeps the way in which its vectors were made.
func TestUnnormalised(t *testing.T) {
	old, normalised := store.Expert{Fingerprint: "ab12"}, store.Expert{Fingerprint: encoder.Normalised("ab12")}
	for _, c := range []struct {
		stored []store.Expert
		want   bool
	}{
		{nil, false},
		{[]store.Expert{normalised}, false},
		{[]store.Expert{old}, true},
		{[]store.Expert{normalised, {Fingerprint: "ab12+granules-1:3"}}, true},
		{[]store.Expert{{Fingerprint: encoder.Normalised("ab12") + "+granules-1:3"}}, false},
	} {
		if got := unnormalised(c.stored); got != c.want {
			t.Errorf("%+v: %t, want %t", c.stored, got, c.want)
		}
	}
}
