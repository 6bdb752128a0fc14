package encoder

import (
	"math"
	"strings"
	"testing"

	"example.org/conclave/models/convert/tiny"
)

// TestReaderScore: a short passage has the score of its Reading, and a long one that of its beginning alone, which Read
// gives a passage that ends there.
func TestReaderScore(t *testing.T) {
	x := openReader(t, library(t), tiny.Expert{Seed: 3, Reader: true})
	const question = "who hid the lamp"
	short := Text{Title: "lamp", Text: "the fox hid the lamp in the den"}
	long := Text{Title: "lamp", Text: strings.Repeat("the fox hid the lamp in the den . ", 60) + "it was the cat"}
	read, err := x.Read(t.Context(), question, []Text{short, long})
	if err != nil {
		t.Fatal(err)
	}
	scores, err := x.Score(t.Context(), question, []Text{short, long})
	if err != nil {
		t.Fatal(err)
	}
	if scores[0].Cut || math.Abs(scores[0].Score-read[0].Select) > 1e-4 {
		t.Errorf("short: %+v, and Read selects it by %v", scores[0], read[0].Select)
	}
	asked, err := x.firstPieces(question, 64)
	if err != nil {
		t.Fatal(err)
	}
	title, err := x.firstPieces(long.Title, 32)
	if err != nil {
		t.Fatal(err)
	}
	pair := min(scoredTokens, x.bundle.Manifest.Reader.MaxTokens.Pair)
	_, words, err := x.tokenizer.Located(long.Text, pair-len(asked)-len(title)-3)
	if err != nil {
		t.Fatal(err)
	}
	begin := Text{Title: long.Title, Text: long.Text[:words[len(words)-1].End]}
	first, err := x.Read(t.Context(), question, []Text{begin})
	if err != nil {
		t.Fatal(err)
	}
	if !scores[1].Cut || math.Abs(scores[1].Score-first[0].Select) > 1e-4 {
		t.Errorf("long: %+v, and Read selects its beginning by %v", scores[1], first[0].Select)
	}
}
