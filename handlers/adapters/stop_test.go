package adapters

import (
	"slices"
	"strings"
	"testing"
)

// TestStop: a text ends before the first of the texts that stop it, whatever pieces it comes in.
func TestStop(t *testing.T) {
	for _, c := range []struct {
		stops      []string
		text, want string
	}{
		{nil, "one two", "one two"},
		{[]string{""}, "one two", "one two"},
		{[]string{"\n\n", "END"}, "one\ntwo EN", "one\ntwo EN"},
		{[]string{"\n\n", "END"}, "one EEND two\n\n", "one E"},
		{[]string{"two", "one"}, "a one two", "a "},
		{[]string{"aab"}, "aaab", "a"},
	} {
		for size := 1; size <= len(c.text); size++ {
			f := stopFilter{texts: c.stops}
			var got strings.Builder
			for piece := range slices.Chunk([]byte(c.text), size) {
				got.WriteString(f.filterPiece(string(piece), false))
			}
			got.WriteString(f.filterPiece("", true))
			if got.String() != c.want {
				t.Errorf("%q by %q in pieces of %d: %q, want %q", c.text, c.stops, size, got.String(), c.want)
			}
		}
	}
}
