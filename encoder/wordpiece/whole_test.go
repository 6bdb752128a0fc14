package wordpiece

import (
	"slices"
	"testing"
)

// TestWholeWords: pieces that continue a word, special ones, numbers and punctuation are no
// words; the order is that of the ids.
func TestWholeWords(t *testing.T) {
	v := &vocabulary{
		ids: map[string]int{
			"[PAD]": 0,
			"[UNK]": 1,
			"[CLS]": 2,
			"[SEP]": 3,
			"the":   4,
			"##s":   5,
			"Lake":  6,
			"1984":  7,
			"!":     8,
			"lake":  9,
			"über":  10,
			"a1":    11,
		},
	}
	tokenizer, err := v.tokenizer(false)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tokenizer.WholeWords(), []string{"the", "lake", "über"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
