package corpus

import "testing"

// TestFingerprint: white space and case do not tell texts apart; all else does, and so does
// what is title and what is text.
func TestFingerprint(t *testing.T) {
	of := func(title, text string) uint64 {
		p := Passage{ID: "x", Title: title, Text: text}
		return p.Fingerprint()
	}
	base := of("A Lake", "The lake is deep.\nVery deep.")
	for _, same := range [][2]string{{"a lake", "the LAKE is deep. very deep."}, {" A  Lake\t", "\n The lake is deep.   Very deep.\n\n"}, {"A Lake", "The lake is\u00a0deep. Very deep."}} {
		if of(same[0], same[1]) != base {
			t.Errorf("%q is told apart", same)
		}
	}
	for _, other := range [][2]string{{"", "The lake is deep. Very deep."}, {"A Lake", "The lake is deep. Verydeep."}, {"A Lake", "The lake is deep, very deep."}, {"A", "Lake The lake is deep. Very deep."}, {"A Lake The lake is deep. Very deep.", ""}, {"A Lake", "Thé lake is deep. Very deep."}} {
		if of(other[0], other[1]) == base {
			t.Errorf("%q is taken for a copy", other)
		}
	}
}
