package encoder

import (
	"slices"
	"strings"

	"example.org/conclave/encoder/subword"
	"example.org/conclave/internal/normalise"
	"example.org/conclave/models"
)

// WordPlace is where a passage has a word: bytes of its title or of its text.
type WordPlace struct {
	InTitle    bool
	Begin, End int
}

// Places returns a WordPlace for each vector that EncodePassages of a Late encoder gives for a passage, in the same
// order: the word, between spaces, that contains the token, or in scripts without spaces its own part; the tokens of
// the bundle's prefix, if it ends with a space, have empty places. What is beyond the bundle's limit has none. It
// returns nil for a template that puts more than spaces between words, since the places are then unknown. The error is
// that of the tokenizer.
func (e *Encoder) Places(t Text) ([]WordPlace, error) {
	whole := t.Text
	text := 0 // where the text begins
	prefix := e.bundle.Manifest.Vectors.Prefix.Passage
	switch template := e.bundle.Manifest.Vectors.Template; {
	case template == models.TemplatePair:
		return nil, nil
	case template == models.TemplateTitleDotText && t.Title != "":
		whole, text = t.Title+". "+t.Text, len(t.Title)+2
	}
	whole, text = prefix+whole, text+len(prefix)
	// A space does not affect how its neighbours are split, so the tokens of the whole
	// are the tokens of its words.
	most := e.bundle.Manifest.Vectors.MaxTokens.Passage - 2
	var places []WordPlace
	for at := 0; at < len(whole) && len(places) < most; {
		end := at + strings.IndexAny(whole[at:], " \n\t")
		if end < at {
			end = len(whole)
		}
		ids, err := e.tokenizer.Encode(whole[at:end], most+2)
		if err != nil {
			return nil, err
		}
		ids = ids[1 : 1+min(len(ids)-2, most-len(places))]
		for _, part := range e.tokenizer.partsOf(whole[at:end], ids) {
			begin, end := at+part.begin, at+part.end
			place := WordPlace{InTitle: at < text, Begin: begin - text, End: end - text}
			if place.InTitle { // or before it
				place.Begin = max(0, begin-len(prefix))
				place.End = max(place.Begin, min(end-len(prefix), len(t.Title)))
			}
			places = append(places, place)
		}
		at = end + 1
	}
	return places, nil
}

// wordPart is a range of bytes of a word.
type wordPart struct{ begin, end int }

// partsOf returns for each of a word's tokens the whole word, or in a script that is written without spaces, where that
// can be the rest of a text, the token's own part; an empty part where that is not known. word must not be empty.
func (q *questionTokens) partsOf(word string, ids []int32) []wordPart {
	parts := slices.Repeat([]wordPart{{0, len(word)}}, len(ids))
	pieces, ok := q.textTokenizer.(interface{ Text(id int32) string })
	if !ok || !strings.ContainsFunc(word, subword.IsUnspaced) {
		return parts
	}
	// What the tokenizer read has other characters, such as half-width punctuation: begins[i] is where the character of
	// the word begins of which byte i of read is.
	var read strings.Builder
	var begins []int
	for i, r := range word {
		n, _ := read.WriteString(normalise.Text(string(r)))
		begins = append(begins, slices.Repeat([]int{i}, n)...)
	}
	begins = append(begins, len(word))
	for i, at := 0, 0; i < len(ids); i++ {
		own := pieces.Text(ids[i])
		skipped := strings.Index(read.String()[at:], own)
		if own == "" || skipped < 0 {
			parts[i] = wordPart{begins[at], begins[at]}
			continue
		}
		parts[i] = wordPart{begins[at+skipped], begins[at+skipped+len(own)]}
		at += skipped + len(own)
	}
	return parts
}
