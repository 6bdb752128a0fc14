package search

import (
	"strings"
	"testing"
)

// TestRepeats: texts that say the same in another form, or of which one has most of the other, repeat each
// other; texts on one subject do not.
func TestRepeats(t *testing.T) {
	const nosebleed = "Sit down, lean slightly forward and pinch the soft part of the nose, just below the bone, for " +
		"ten to fifteen minutes without letting go to look. Breathe through your mouth and spit out any blood."
	for other, want := range map[string]bool{
		strings.ToUpper(nosebleed):                             true,
		strings.ReplaceAll(nosebleed, " ", "\n"):               true,
		strings.ReplaceAll(nosebleed, ",", " –"):               true,
		nosebleed[:len(nosebleed)*2/3]:                         true,
		"Nosebleeds. " + nosebleed + strings.Repeat(" And", 9): true,
		"Pinch the nose for ten minutes, sit down and lean forward. If blood still comes after that, see a doctor.": false,
		"Sit down, lean slightly forward.":              true, // all of which the other says
		"Hold a burn under cool running water at once.": false,
		"": false,
	} {
		if got := repeats(shingles(nosebleed), shingles(other)); got != want {
			t.Errorf("%q: %v", other, got)
		}
		if got := repeats(shingles(other), shingles(nosebleed)); got != want {
			t.Errorf("%q, the other way round: %v", other, got)
		}
	}
}
