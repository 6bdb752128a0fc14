package generators

import (
	"slices"
	"strings"
	"testing"
)

// TestCitationForms: every form of citations becomes [1][2], whatever pieces it comes in, and other brackets stay.
func TestCitationForms(t *testing.T) {
	for text, want := range map[string]string{
		"Deep [1]. Seals [2, 3].":                                       "Deep [1]. Seals [2][3].",
		"Deep 【1】, [^2] and ［3］.":                                       "Deep [1], [2] and [3].",
		"Deep [1-3]. Seals [2–3; 1]":                                    "Deep [1][2][3]. Seals [2][3][1]",
		"Deep [Passage 1]. (Passage 2) (passages 1 and 3)":              "Deep [1]. [2] [1][3]",
		"Deep [source: 2] 【1†source】 [Quelle 3].":                       "Deep [2] [1] [3].",
		"Deep (page 3), [note], (2), [a-1], [ISO 9001], [EN-3]? [x [1]": "Deep (page 3), [note], (2), [a-1], [ISO 9001], [EN-3]? [x [1]",
		"All of [1-99].":                                                "All of [1][99].",
		"Of [7-3].":                                                     "Of [7][3].",
		"----0123456789abcdef----\nDeep\n----0123456789abcdef----\n[1] -- or ---- not": "\nDeep\n[1] -- or ---- not",
		"- one\n- two [1]\n\n---\nend": "- one\n- two [1]\n\n---\nend",
		"(":                            "(", "[": "[", "": "", "a\n": "a\n", "(passage": "(passage",
	} {
		for size := 1; size <= len(text)+1; size++ {
			c := citationReader{passages: 3}
			var got strings.Builder
			for piece := range slices.Chunk([]rune(text), size) {
				got.WriteString(c.rewritePiece(string(piece), false))
			}
			got.WriteString(c.rewritePiece("", true))
			if got.String() != want {
				t.Errorf("%q in pieces of %d: %q, want %q", text, size, got.String(), want)
			}
		}
	}
}
