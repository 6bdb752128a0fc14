package adapters

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/talk"
	"example.org/conclave/search/reply"
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

// TestPhrasesFor: a message tells its language, and what is found for it does where its words tell none.
func TestPhrasesFor(t *testing.T) {
	german := []reply.Result{{Text: "Die Bibliothek öffnet von Montag bis Freitag um neun Uhr, am Samstag erst um zehn, " +
		"und an Feiertagen bleibt sie geschlossen."}}
	for _, c := range []struct {
		message string
		found   []reply.Result
		want    string
	}{
		{"When does the library open?", nil, "en"},
		{"When does the library open on a holiday?", german, "en"},
		{"Öffnungszeiten Samstag?", german, "de"},
		{"Öffnungszeiten Samstag?", nil, "en"},
		{"Wann öffnet die Bibliothek an einem Feiertag?", nil, "de"},
		{"¿A qué hora abre la biblioteca los sábados?", nil, "es"},
		{"À quelle heure est-ce que la bibliothèque ouvre le samedi ?", german, "fr"},
		{"图书馆几点开门？", nil, "zh"},
		{"図書館は何時に開きますか", german, "ja"},
		{"", nil, "en"},
	} {
		if got := phrasesFor(c.message, c.found); got != phrasesOf[c.want] {
			t.Errorf("%q: %s, want %s", c.message, got.notFound, c.want)
		}
	}
}
