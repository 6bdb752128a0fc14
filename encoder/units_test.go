package encoder

import (
	"regexp"
	"strings"
	"testing"

	"example.org/conclave/encoder/wordpiece"
)

// TestUnits: cells, rows, items and paragraphs are units of their own, and a wrapped line goes on in the next one.
func TestUnits(t *testing.T) {
	for text, want := range map[string]string{
		"Part | Weight\n541902 | 843 grams\n541903 | 900 grams":                            "Part/Weight/541902/843 grams/541903/900 grams",
		"Steps:\n\nTurn it off.\nWait 10 minutes":                                          "Steps:/Turn it off./Wait 10 minutes",
		"Apples\nPears\n\n\nPlums":                                                         "Apples/Pears/Plums",
		"The fine for travelling without a ticket is eighty\ncrowns, and ninety at\nnight": "The fine for travelling without a ticket is eighty crowns, and ninety at/night",
		"The fine for travelling without a ticket is eighty.\ncrowns":                      "The fine for travelling without a ticket is eighty./crowns",
		"The fine for travelling without a ticket is eighty\nA | B":                        "The fine for travelling without a ticket is eighty/A/B",
		"a|b or c": "a|b or c",
		"":         "",
		"\n\n":     "",
	} {
		var words []wordpiece.Range
		for _, at := range regexp.MustCompile(`\S+`).FindAllStringIndex(text, -1) {
			if text[at[0]:at[1]] != "|" {
				words = append(words, wordpiece.Range{Begin: at[0], End: at[1]})
			}
		}
		var got strings.Builder
		last := -1
		for i, unit := range unitsOf(text, words) {
			switch {
			case last >= 0 && unit < last:
				t.Errorf("%q: unit %d behind %d", text, unit, last)
			case last >= 0 && unit != last:
				got.WriteString("/")
			case last >= 0:
				got.WriteString(" ")
			}
			last = unit
			got.WriteString(text[words[i].Begin:words[i].End])
		}
		if got.String() != want {
			t.Errorf("%q: %q, want %q", text, got.String(), want)
		}
	}
}
