package wordpiece

import "testing"

// TestWords: what the published English vocabulary knows of questions, counted by
// hand in its list of pieces.
func TestWords(t *testing.T) {
	tokenizer := published(t, "vocab.txt")
	for text, want := range map[string]Words{
		"":                         {},
		"?!... ":                   {},
		"how to install a driver?": {All: 5, Whole: 5},
		"What's Baikal":            {All: 3, Whole: 2}, // what, s; bai ##kal
		"zorbflix":                 {All: 1},           // spelt, not whole
		"как установить драйвер": {All: 3, Unknown: 3}, // spelt letter by letter, in a script without words
		"法国的首都":         {All: 5, Unknown: 5},           // a word each; most are pieces
		"gpu ☃ драйвер": {All: 3, Whole: 0, Unknown: 2}, // gp ##u; no piece; Cyrillic
	} {
		if got := tokenizer.Words(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
