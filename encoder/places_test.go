package encoder

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/encoder/subword"
	"example.org/conclave/internal/normalise"
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

// TestPlacesAfterPrefix: the tokens of a prefix have vectors, and no place.
func TestPlacesAfterPrefix(t *testing.T) {
	const d = 8
	with := bundle(t, tiny.Expert{Late: d})
	with.Manifest.Vectors.Prefix = models.Prefix{Passage: "house river "}
	e := open(t, library(t), with, Running{})
	for p, want := range map[Text][]WordPlace{
		{Title: "story", Text: "the wolf"}: {{true, 0, 0}, {true, 0, 0}, {true, 0, 5}, {true, 0, 5}, {false, 0, 3},
			{false, 4, 8}},
		{Text: "the wolf"}: {{true, 0, 0}, {true, 0, 0}, {false, 0, 3}, {false, 4, 8}},
	} {
		got, err := e.Places(p)
		if n := len(passages(t, e, p)[0]) / d; err != nil || n != len(got) || !slices.Equal(got, want) {
			t.Errorf("%v: places %v of %d vectors, %v, want %v", p, got, n, err, want)
		}
	}
}

// TestPlacesWithoutSpaces: in a script that is written without spaces a token's place is its own part of the text, also
// after characters that the tokenizer reads as others, or does not know.
func TestPlacesWithoutSpaces(t *testing.T) {
	const file = `{"model": {"type": "Unigram", "unk_id": 3, "vocab": [["<s>", 0], ["<pad>", 0], ["</s>", 0],
		["<unk>", 0], ["▁", -3], ["绿色", -2], ["的", -2], ["鸟", -2], [",", -2], ["▁bird", -2], ["s", -3]]},
		"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
		"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
			{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
		"pair": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
			{"SpecialToken": {"id": "</s>", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}},
			{"Sequence": {"id": "B", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
		"special_tokens": {}}}`
	parsed, err := subword.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	q := &questionTokens{textTokenizer: parsed.Behind(normalise.Text)}
	for word, want := range map[string][]string{
		"绿色的，鸟": {"", "绿色", "的", "，", "鸟"},
		"绿色龘龘鸟": {"", "绿色", "", "鸟"},
		"birds": {"birds", "birds"},
	} {
		ids, err := q.Encode(word, 64)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, part := range q.partsOf(word, ids[1:len(ids)-1]) {
			got = append(got, word[part.begin:part.end])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
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
