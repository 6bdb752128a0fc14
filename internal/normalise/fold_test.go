package normalise_test

import (
	"testing"

	"example.org/conclave/internal/normalise"
)

// TestFold: texts that a reader takes for the same words are equal.
func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"  What's the PRICE, please?! ": "whats the price please",
		"what’s the price – please":     "whats the price please",
		"Élan über uns":                 "elan uber uns",
		"旅費の精算":                         "旅 費 の 精 算",
		"A4-Papier (80 g)":              "a4 papier 80 g",
		"?!…":                           "",
		"":                              "",
	} {
		if got := normalise.Fold(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
