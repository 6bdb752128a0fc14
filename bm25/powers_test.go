package bm25

import (
	"slices"
	"testing"

	"example.org/conclave/bm25/forms"
)

// TestPowersAndFractions: a power and a fraction have the same words in every notation, and those of no other number.
func TestPowersAndFractions(t *testing.T) {
	for one, other := range map[string]string{
		"10³ metres": "10^3 metres", "½ cup": "1/2 cup", "1½ cups": "1 1/2 cups", "m²": "m^2", "5·10⁻⁶": "5·10^-6",
	} {
		if a, b := forms.Unicode.Terms(one), forms.Unicode.Terms(other); !slices.Equal(a, b) {
			t.Errorf("%q has %q, and %q %q", one, a, other, b)
		}
	}
	for _, text := range []string{"10³", "½", "1½", "5²³"} {
		for _, number := range []string{"103", "12", "112", "523", "1⁄2"} {
			if slices.Contains(forms.Unicode.Terms(text), number) {
				t.Errorf("%q has the term %q", text, number)
			}
		}
		if !WordingOf(text).In("of " + text + " cups") {
			t.Errorf("%q is not found in itself", text)
		}
	}
	if slices.Contains(forms.Unicode.Terms("CO₂"), "co") {
		t.Errorf("%q", forms.Unicode.Terms("CO₂"))
	}
}
