package forms

import (
	"slices"
	"strings"
	"testing"
)

// TestPairs: of every passage there are as many pairs as words, so that lengths agree,
// and all but one of a title's and of a text's are its phrases.
func TestPairs(t *testing.T) {
	for _, c := range []struct {
		title, text string
		want        string
	}{
		{"", "", ""},
		{"The", "of the", ""},
		{"Lake", "", "+"},
		{"", "deep lakes", "+ deep+lake"},
		{"Deep lakes", "a_b cold, cold water", "+ deep+lake + a_b+cold cold+cold cold+water"},
	} {
		got := Lucene.Pairs(c.title, c.text)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q, %q: %q, not %q", c.title, c.text, got, c.want)
		}
	}
}

func FuzzPairs(f *testing.F) {
	f.Add("The quick", "brown fox's + a_b 3+4 x")
	f.Fuzz(func(t *testing.T, title, text string) {
		words := Lucene.Words(title, text)
		got := Lucene.Pairs(title, text)
		if len(got) != len(words) {
			t.Fatalf("%d pairs, %d words: %q, %q", len(got), len(words), got, words)
		}
		var phrases []string
		for _, p := range append(PhrasesOf(Analyse(title)), PhrasesOf(Analyse(text))...) {
			phrases = append(phrases, strings.ReplaceAll(p, string(PhraseGap), PairGap))
		}
		got = slices.DeleteFunc(got, func(token string) bool { return token == PairGap })
		if !slices.Equal(got, phrases) {
			t.Fatalf("%q, not %q", got, phrases)
		}
		for _, w := range words {
			if strings.Contains(w, PairGap) || strings.ContainsFunc(w, func(r rune) bool {
				return r <= ' ' || r >= 0x2000 && r <= 0x200a || r == 0x2028 || r == 0x2029 || r == 0x3000
			}) {
				t.Fatalf("the term %q has a gap in it", w)
			}
		}
	})
}
