package encoder

import (
	"slices"
	"testing"

	"example.org/conclave/encoder/wordpiece"
	"example.org/conclave/models"
	"example.org/conclave/models/convert/tiny"
)

// spellings are the same text to a reader: plain, and as files and keyboards have it.
var spellings = map[string][]string{
	"fine offices of Jos\u00e9": {"\ufb01ne o\ufb03ces of Jose\u0301", "fi\u00adne offices\u200b of Jos\u00e9\ufeff"},
	"CO2 in 12 km":              {"CO\u2082 in 12\u00a0km", "ＣＯ２　in 12 km", "CO2 in 12 \u339e"},
}

// TestNormalised: spellings of a text have one vector, and the fingerprint of passages says how they are read.
func TestNormalised(t *testing.T) {
	r := library(t)
	b := bundle(t, tiny.Expert{})
	with := open(t, r, b, Running{})
	if with.Fingerprint(models.Question) != b.Fingerprint(models.Question) ||
		with.Fingerprint(models.Passage) != Normalised(b.Fingerprint(models.Passage)) {
		t.Error("the fingerprints do not say how passages are read")
	}
	for plain, others := range spellings {
		want := question(t, with, plain)
		passage := passages(t, with, Text{plain, plain})[0]
		for _, other := range others {
			if !slices.Equal(question(t, with, other), want) ||
				!slices.Equal(passages(t, with, Text{other, other})[0], passage) {
				t.Errorf("%+q has another vector than %q", other, plain)
			}
		}
	}
}

// TestNormalisedTokens: the tokens of pieces at their places are those of the whole text.
func TestNormalisedTokens(t *testing.T) {
	r := library(t)
	var tokenizer *wordpiece.Tokenizer = open(t, r, bundle(t, tiny.Expert{}), Running{}).tokenizer.words
	for plain, others := range spellings {
		for _, text := range append(others, plain) {
			ids, err := tokenizer.Encode(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			located, words, err := tokenizer.Located(text, 62)
			if err != nil || !slices.Equal(ids[1:len(ids)-1], located) || len(words) != len(located) {
				t.Errorf("%+q: %v, located %v at %v, %v", text, ids, located, words, err)
			}
		}
	}
}
