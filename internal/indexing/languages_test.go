package indexing

import (
	"slices"
	"testing"

	"example.org/conclave/internal/corpus"
)

// TestSampledLanguages: the languages of what was kept, the most frequent first.
func TestSampledLanguages(t *testing.T) {
	german := "Die Bibliothek öffnet montags bis freitags um neun Uhr und schließt am Abend um achtzehn Uhr."
	english := "The library opens at nine in the morning from Monday to Friday, and closes at six in the evening."
	s := &Sample{}
	for i := range 9 {
		text := german
		if i%3 == 0 {
			text = english
		}
		s.kept = append(s.kept, corpus.Passage{Text: text})
	}
	if got := s.languages(); !slices.Equal(got, []string{"de", "en"}) {
		t.Errorf("languages are %q", got)
	}
	if got := (&Sample{}).languages(); got != nil {
		t.Errorf("nothing is in %q", got)
	}
}
