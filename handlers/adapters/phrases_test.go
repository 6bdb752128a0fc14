package adapters

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/talk"
)

// TestPhrases: each language has every phrase, with as many verbs as the English one.
func TestPhrases(t *testing.T) {
	if len(phrasesOf) != len(talk.Languages) {
		t.Errorf("phrases in %d languages, want %d", len(phrasesOf), len(talk.Languages))
	}
	english := reflect.ValueOf(*phrasesOf["en"])
	for language, p := range phrasesOf {
		if !slices.Contains(talk.Languages, language) {
			t.Errorf("%q is no language of talk", language)
		}
		v := reflect.ValueOf(*p)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			said := v.Field(i).String()
			if said == "" {
				t.Errorf("%s has no %s", language, name)
			}
			for _, verb := range []string{"%s", "%d", "%"} {
				if got, want := strings.Count(said, verb), strings.Count(english.Field(i).String(), verb); got != want {
					t.Errorf("%s: %s has %d of %s, want %d: %q", language, name, got, verb, want, said)
				}
			}
		}
	}
}

// TestPhraseLists: names are joined as each language does it.
func TestPhraseLists(t *testing.T) {
	for names, want := range map[string]string{"": "", "A": "A", "A B": "A und B", "A B C": "A, B und C"} {
		if got := phrasesIn("de").list(strings.Fields(names)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := phrasesIn("xx").countPassages(1); got != "1 passage" {
		t.Errorf("%q", got)
	}
}
