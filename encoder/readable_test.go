package encoder

import (
	"math"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/models/convert/tiny"
)

// TestReadable: what a question and a passage count, by counting the characters of words
// that the tiny vocabulary, which is of ASCII, can spell.
func TestReadable(t *testing.T) {
	e := open(t, library(t), bundle(t, tiny.Expert{}), Running{})
	for text, want := range map[string]float64{
		"who crossed the river": 1, "a story 👍": 1,
		"ab ไทยไทยไท": 2 * 2. / 10, // two of ten characters
		"ไทย":         0, "👍 ∑∫√": 0, "?!": 1, "": 1,
	} {
		if got := e.Readable(text); math.Abs(got-want) > 1e-12 {
			t.Errorf("question %q counts %g, want %g", text, got, want)
		}
		if got, _ := e.ReadablePassage(Text{Text: text}); math.Abs(got-want) > 1e-12 {
			t.Errorf("passage %q counts %g, want %g", text, got, want)
		}
	}
	if read, cut := e.ReadablePassage(Text{Title: "story", Text: strings.Repeat("water ", 1000)}); read != 1 || !cut {
		t.Errorf("a long passage counts %g, cut %t", read, cut)
	}
	texts := []Text{
		{Text: "a story"},
		{Text: "ภาษาไทย"},
		{Title: "เรื่อง", Text: "ภาษาไทย"},
		{Text: strings.Repeat("river ", 1000)},
	}
	vectors, read, err := e.ReadPassages(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(read, []float64{1, 0, 0, 1}) || e.UnreadPassages() != 2 || e.CutPassages() != 1 {
		t.Errorf("they count %v; %d unread, %d cut", read, e.UnreadPassages(), e.CutPassages())
	}
	if math.Abs(vectorLength(vectors[1])-1) > 1e-5 {
		t.Errorf("what is handed out is %g long", vectorLength(vectors[1]))
	}
}

// TestLateIgnoresUnread: tokens that cannot be read are zeros, so that they match nothing,
// and the importance of a question is that of its other tokens.
func TestLateIgnoresUnread(t *testing.T) {
	const d = 8
	e := open(t, library(t), bundle(t, tiny.Expert{Late: d}), Running{})
	plain := forTokens(question(t, e, "water river"), d)
	asked := forTokens(question(t, e, "water ไทย river"), d)
	if len(plain) != 2 || len(asked) != 3 {
		t.Fatalf("%d and %d tokens", len(plain), len(asked))
	}
	if vectorLength(asked[1]) != 0 || vectorLength(asked[0]) == 0 || vectorLength(asked[2]) == 0 {
		t.Errorf(
			"the tokens are %g, %g and %g long", vectorLength(asked[0]), vectorLength(asked[1]), vectorLength(asked[2]),
		)
	}
	if sum := vectorLength(asked[0]) + vectorLength(asked[2]); math.Abs(sum-1) > 1e-5 {
		t.Errorf("the read tokens add up to %g", sum)
	}
	sum := 0.0
	for _, v := range forTokens(question(t, e, "ab ไทยไทยไท"), d) {
		sum += vectorLength(v)
	}
	if math.Abs(sum-.4) > 1e-5 { // two of ten characters, twice
		t.Errorf("a question that is hardly read adds up to %g", sum)
	}
	stored := passages(t, e, Text{Text: "water ไทย"}, Text{Text: "ไทย ไทย"}, Text{Text: "water river"})
	for i, want := range [][]float64{{1, 0}, {0, 0}, {1, 1}} {
		for n, v := range forTokens(stored[i], d) {
			if math.Abs(vectorLength(v)-want[n]) > 1e-5 {
				t.Errorf("passage %d: token %d is %g long, want %g", i, n, vectorLength(v), want[n])
			}
		}
	}
}
