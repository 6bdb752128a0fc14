package question

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tenWords fits texts of ten words.
func tenWords(text string) bool { return len(strings.Fields(text)) <= 10 }

// TestUnitsHoldTheQuestion: the sentences hold every word of a question in its order, all
// parts fit, and there are not more than may be.
func TestUnitsHoldTheQuestion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom(strings.Fields("Red green. blue, cat? dog! bird\n runs\n\n Error: e.g. Mr. 3.5")), 1, 400).
			Draw(t, "words")
		question := strings.Join(words, " ")
		units := unitsOf(question, tenWords)
		var sentences []string
		for _, u := range units {
			if !tenWords(u.Text) {
				t.Fatalf("%q does not fit", u.Text)
			}
			if len(strings.Fields(strings.Join(sentences, " "))) < len(strings.Fields(question)) {
				sentences = append(sentences, u.Text)
			}
		}
		if !slices.Equal(strings.Fields(strings.Join(sentences, " ")), strings.Fields(question)) {
			t.Fatalf("%q is cut into %q", question, sentences)
		}
		if len(units) > 2*mostUnits {
			t.Fatalf("%d units", len(units))
		}
	})
	many := unitsOf(strings.Repeat("A cat sat here. ", 3000), tenWords)
	if len(many) > 2*mostUnits {
		t.Errorf("%d units of 3000 sentences", len(many))
	}
}
