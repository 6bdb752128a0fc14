package generators

import (
	"slices"
	"testing"
)

// TestSentences: sentences end where a reader sees their end, in paragraphs, lists and tables, and each has the
// citations behind it.
func TestSentences(t *testing.T) {
	for text, want := range map[string][]string{
		"It is deep [1]. pH is 7 [2].":           {"It is deep| [1].", "pH is 7| [2]."},
		"It is deep. [1] iron is in it. [2]":     {"It is deep.| [1]", "iron is in it.| [2]"},
		"As [1] says, it is deep":                {"As [1] says, it is deep|"},
		"It has approx. 1,642 m, e.g. at 3.5 km": {"It has approx. 1,642 m, e.g. at 3.5 km|"},
		"It is deep\nand cold [1].\n[2]\n\nYes.": {"It is deep\nand cold| [1].\n[2]", "Yes.|"},
		"## Depth\n\nThe prices are:\n\n- 80 crowns [1]\n- a day pass. It is 20 [2]\n  crowns\n\n1. first [1]\n2) second": {
			"The prices are:|", "80 crowns| [1]", "a day pass.|", "It is 20 [2]\n  crowns|", "first| [1]", "second|"},
		"| Part | Weight |\n| --- | ---: |\n| 541902 | 843 g [1] |\n| 541903 | 900 g |\n\nAll of them.": {
			"541902 | 843 g| [1]", "541903 | 900 g|", "All of them.|"},
		"Run:\n```\nconclave serve. Or not.\n```\nThen ask [1].": {"Run:|", "Then ask| [1]."},
		"> quoted [1]\n> again":                                  {"quoted| [1]", "again|"},
		"Is it? yes! [1] Depth: 3":                               {"Is it?|", "yes!| [1]", "Depth: 3|"},
		"深い。[1] 冷たい。[2]":                                         {"深い。|[1]", "冷たい。|[2]"},
		"See http://x.example/?q=1!a [1]. No.":                   {"See http://x.example/?q=1!a| [1].", "No.|"},
		"[1]":                                                    nil,
		"---\n***\n|-|\n":                                        nil,
	} {
		var got []string
		for _, s := range sentencesOf(text) {
			got = append(got, text[s.begin:s.end]+"|"+text[s.end:s.until])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q:\n%q, want\n%q", text, got, want)
		}
	}
}
