package wordpiece

import (
	"slices"
	"strings"
	"testing"
)

// TestWords: what the published English vocabulary knows of questions, counted by
// hand in its list of pieces.
func TestWords(t *testing.T) {
	tokenizer := published(t, "vocab.txt")
	for text, want := range map[string]Words{
		"":                         {},
		"?!... ":                   {},
		"how to install a driver?": {All: 5, Whole: 5, Characters: 19, Read: 19},
		"What's Baikal":            {All: 3, Whole: 2, Characters: 11, Read: 11}, // what, s; bai ##kal
		"zorbflix":                 {All: 1, Characters: 8, Read: 8},             // spelt, not whole
		"как установить драйвер": {All: 3, Unknown: 3, Characters: 20}, // spelt letter by letter, in a script without words
		"法国的首都":                  {All: 5, Unknown: 5, Characters: 5},           // a word each; most are pieces
		"gpu ☃ драйвер":          {All: 3, Unknown: 2, Characters: 11, Read: 3}, // gp ##u; no piece; Cyrillic
		"hawaiʻi":                {All: 1, Characters: 7, Read: 7},              // a letter of no script
		strings.Repeat("0f", 64): {All: 1, Characters: 128, Read: 128},          // longer than the reference's longest word
	} {
		if got := tokenizer.Words(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// TestStrange: what the published vocabulary has of scripts that it has no words of.
func TestStrange(t *testing.T) {
	tokenizer := published(t, "vocab.txt")
	for text, want := range map[string]bool{
		"how to install a driver": false, "naïve café 2024 – €5": false, "0f3c9e": false,
		"β": true, "и": true, "京": true, "👍": true, "ภาษาไทย": true, "∑∫√": true,
	} {
		ids, err := tokenizer.Encode(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids[1 : len(ids)-1] {
			if tokenizer.Strange(id) != want {
				t.Errorf("%q: token %d of %v is strange: %t, want %t", text, id, ids, !want, want)
			}
		}
	}
}

// TestLongWords: two hashes share no piece sequence, and a huge word costs no more than
// its first pieces.
func TestLongWords(t *testing.T) {
	tokenizer := published(t, "vocab.txt")
	one, err := tokenizer.Encode(strings.Repeat("3f9a", 32), 512)
	if err != nil {
		t.Fatal(err)
	}
	other, err := tokenizer.Encode(strings.Repeat("c07e", 32), 512)
	if err != nil {
		t.Fatal(err)
	}
	if len(one) < 20 || slices.Equal(one, other) {
		t.Errorf("the pieces of two hashes: %v and %v", one, other)
	}
	huge, err := tokenizer.Encode(strings.Repeat("3f9a", 1<<20), 512)
	if err != nil || len(huge) != 512 || !slices.Equal(huge[:100], tokenizerPrefix(t, tokenizer, 100)) {
		t.Errorf("4 MiB without a space: %d ids, %v", len(huge), err)
	}
	located, places, err := tokenizer.Located("see "+strings.Repeat("3f9a", 1<<20)+" there", 40)
	if err != nil || len(located) != 40 || len(places) != 40 || places[39].End != 4+4<<20 {
		t.Errorf("located: %d ids at %v, %v", len(located), places, err)
	}
}

// tokenizerPrefix returns the beginning of the ids of a shorter such word.
func tokenizerPrefix(t *testing.T, tokenizer *Tokenizer, n int) []int32 {
	ids, err := tokenizer.Encode(strings.Repeat("3f9a", 300), n+1)
	if err != nil {
		t.Fatal(err)
	}
	return ids[:n]
}
