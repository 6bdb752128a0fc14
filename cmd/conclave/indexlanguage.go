package main

import (
	"fmt"
	"slices"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/indexing"
	"example.org/conclave/internal/languages"
	"example.org/conclave/internal/wording"
	"example.org/conclave/shipped"
)

// chosenText returns which experts and which analysis of words the passages' languages chose, and how to choose
// others; if the expert that reads them is missing, the warning of foreignText, too.
func chosenText(choice indexing.LanguageChoice) string {
	of := "several languages"
	if len(choice.Languages) > 0 {
		names := make([]string, len(choice.Languages))
		for i, code := range choice.Languages {
			names[i] = languages.NameOf(code)
		}
		of = wording.List(names)
	}
	words := "words are analysed as English"
	if choice.Analysis != forms.Unicode {
		words = fmt.Sprintf("words are analysed by %s", choice.Analysis)
	}
	by := "no expert encodes them"
	if len(choice.Experts) > 0 {
		by = "they are encoded by " + wording.List(choice.Experts)
	}
	if len(choice.Languages) > 1 && slices.Contains(choice.Experts, shipped.Base) &&
		slices.Contains(choice.Experts, shipped.Multilingual) {
		by += ", each by those that read its language"
	}
	text := fmt.Sprintf("the passages are in %s: %s, and %s (--language en, another code or multi chooses otherwise)", of, by, words)
	if choice.WithoutLate {
		text += "\nlate interaction for " + shipped.Multilingual + " is not there: `conclave setup --languages` makes it"
	}
	if choice.Missing && len(choice.Experts) > 0 {
		text += "\n" + foreignText(choice.Languages, choice.Experts)
	}
	return text
}

// foreignText returns the warning that passages are in languages other than English, which these experts do not read,
// with the commands that add an expert for them. codes are language codes.
func foreignText(codes, experts []string) string {
	names := make([]string, len(codes))
	for i, code := range codes {
		names[i] = languages.NameOf(code)
	}
	who := wording.List(experts) + " read"
	if len(experts) == 1 {
		who += "s"
	}
	return fmt.Sprintf(
		"the passages are in %s; %s English alone, so that others are found by equal words: `conclave setup --languages` fetches an expert that reads them, and --experts %s takes it",
		wording.List(names),
		who,
		shipped.Multilingual,
	)
}
