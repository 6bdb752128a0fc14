package sources

import (
	"slices"
	"testing"
)

// TestCompoundParts: a compound is taken apart where passages have both parts, with or without letters between them,
// and of several ways where they have them most; nothing else is.
func TestCompoundParts(t *testing.T) {
	known := map[string]int{
		"migräne": 2, "patienten": 5, "zahlung": 3, "verzug": 1, "haus": 9, "hausarzt": 1, "praxis": 4, "arztpraxis": 1,
		"bank": 2, "konto": 7, "blume": 1, "topf": 1, "ende": 3, "rund": 1,
	}
	for text, want := range map[string][]string{
		"Was hilft Migränepatienten?": {"migräne", "patienten"},
		"zahlungsverzug":              {"zahlung", "verzug"},
		"Hausarztpraxis":              {"haus", "arztpraxis"}, // 9 and 1 rather than 1 and 4
		"BANKKONTO, Blumentopf":       {"bank", "konto", "blume", "topf"},
		"Bankkonto Bankkonto":         {"bank", "konto"},
		"Kontonummer":                 nil, // no passage has the second part
		"rundend":                     nil, // too short
		"Konto":                       nil,
		"":                            nil,
	} {
		if got := bestSplits(splitsOf(text), known); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
