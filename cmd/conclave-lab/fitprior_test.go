package main

import (
	"slices"
	"testing"

	"example.org/conclave/internal/questions"
)

// TestForeignQuestionsAreInItsLanguage: a collection is asked the questions of the domains that have a language in
// common with it and are not named with it by --near. A domain whose languages are not known has all.
func TestForeignQuestionsAreInItsLanguage(t *testing.T) {
	x := &fitPriorCommand{near: []string{"wiki,nq"}, languages: map[string][]string{
		"wiki": {"en"}, "nq": {"en"}, "policy": {"en"}, "de": {"de"}, "mixed": {"de", "en"}, "codes": nil,
	}}
	var domains []questions.Domain
	for _, name := range []string{"wiki", "nq", "policy", "de", "mixed", "codes"} {
		domains = append(domains, questions.Domain{Name: name})
	}
	for at, want := range [][]string{
		{"wiki", "policy", "mixed", "codes"}, {"nq", "policy", "mixed", "codes"}, {"wiki", "nq", "policy", "mixed", "codes"},
		{"de", "mixed", "codes"}, {"wiki", "nq", "policy", "de", "mixed", "codes"},
		{"wiki", "nq", "policy", "de", "mixed", "codes"},
	} {
		asked, generated, place := x.withoutUnasked(domains, domains, at)
		var names []string
		for _, d := range asked {
			names = append(names, d.Name)
		}
		if !slices.Equal(names, want) || len(generated) != len(want) || names[place] != domains[at].Name {
			t.Errorf("%s is asked the questions of %q, of %d generated; itself at %d; want %q",
				domains[at].Name, names, len(generated), place, want)
		}
	}
}
