package encoder

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert/tiny"
)

// TestPlaces: there is a place for each vector of a passage, and the words at these
// places have, one after the other, the tokens of the whole passage.
func TestPlaces(t *testing.T) {
	const d = 8
	r := library(t)
	e := open(t, r, bundle(t, tiny.Expert{Late: d, MaxTokens: models.MaxTokens{Question: 64, Passage: 24}}), Running{})
	const seed = 5
	random := rand.New(rand.NewPCG(seed, 0))
	odd := oddWords()
	gaps := []string{" ", "  ", "\n", "\t", " \n "}
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(odd[random.IntN(len(odd))] + gaps[random.IntN(len(gaps))])
		}
		return b.String()
	}
	inTitles, cut := 0, 0
	for range 300 {
		p := Text{Title: text(random.IntN(4)), Text: text(random.IntN(14))}
		ids, err := e.passageTokens(p, 24)
		if err != nil {
			t.Fatal(err)
		}
		places, err := e.Places(p)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(passages(t, e, p)[0]) / d; n != len(places) && len(ids) > 2 {
			t.Fatalf("seed %d: %q has %d vectors and %d places", seed, p, n, len(places))
		}
		if len(ids) == 24 {
			cut++
		}
		at := 1
		for _, same := range grouped(places) {
			field := p.Text
			if same[0].InTitle {
				field = p.Title
				inTitles++
			}
			word := field[same[0].Begin:same[0].End]
			if same[0].InTitle && same[0].End == len(p.Title) {
				word += "." // of the template
			}
			own, err := e.tokenizer.Encode(word, 64)
			if err != nil {
				t.Fatal(err)
			}
			own = own[1 : len(own)-1]
			if !slices.Equal(ids[at:at+len(same)], own[:min(len(own), len(same))]) {
				t.Fatalf(
					"seed %d: %q: the word %q has the tokens %v, at its place are %v",
					seed,
					p,
					word,
					own,
					ids[at:at+len(same)],
				)
			}
			at += len(same)
		}
	}
	if inTitles < 100 || cut < 20 {
		t.Errorf("%d words of titles and %d passages that were cut show little", inTitles, cut)
	}
	pair := open(t, r, bundle(t, tiny.Expert{Late: d, Template: models.TemplatePair}), Running{})
	if places, err := pair.Places(Text{Title: "story", Text: "wolf"}); err != nil || places != nil {
		t.Errorf("of a pair: %v, %v", places, err)
	}
}

// grouped puts the places of one word together.
func grouped(places []WordPlace) (out [][]WordPlace) {
	for i, p := range places {
		if i > 0 && p == places[i-1] {
			out[len(out)-1] = append(out[len(out)-1], p)
			continue
		}
		out = append(out, []WordPlace{p})
	}
	return out
}
