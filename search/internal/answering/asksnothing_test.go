package answering

import (
	"testing"
)

// TestIsNumber: a year and an amount are numbers that texts have by the way; what has a letter, or is long, names
// something.
func TestIsNumber(t *testing.T) {
	for word, want := range map[string]bool{
		"2023": true, "7.5": true, "12:30": true, "42": true, "": false, "E-71": false, "20231187": false,
		"BC.6613-18": false, "fox": false, "٢٠٢٣": true,
	} {
		if IsNumber(word) != want {
			t.Errorf("%q: %t", word, !want)
		}
	}
}

// TestHeads: a title has a word in another form, and not one that only begins alike.
func TestHeads(t *testing.T) {
	for _, c := range []struct {
		word, title string
		want        bool
	}{
		{"nosebleed", "Nosebleeds", true},
		{"fox", "The Fox and the Moon", true},
		{"foxes", "The Fox and the Moon", false},
		{"fox", "Foxes", true},
		{"fox", "Foxglove", false},
		{"water", "Waterloo", true}, // as far as letters tell
		{"2023", "The year 2023", true},
		{"202", "The year 2023", false},
		{"fox", "", false},
	} {
		if got := TitleHas(c.word, c.title); got != c.want {
			t.Errorf("%q in %q: %t", c.word, c.title, got)
		}
	}
}
