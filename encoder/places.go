package encoder

import (
	"strings"

	"example.org/conclave/models"
)

// WordPlace is where a passage has a word: bytes of its title or of its text.
type WordPlace struct {
	InTitle    bool
	Begin, End int
}

// Places returns a WordPlace for each vector that EncodePassages of a Late encoder gives for a passage, in the same
// order: the word, between spaces, that contains the token. What is beyond the bundle's limit has none. It returns
// nil for a template that puts more than spaces between words, since the places are then unknown. The error is that
// of the tokenizer.
func (e *Encoder) Places(t Text) ([]WordPlace, error) {
	whole := t.Text
	text := 0 // where the text begins
	switch template := e.bundle.Manifest.Vectors.Template; {
	case template == models.TemplatePair:
		return nil, nil
	case template == models.TemplateTitleDotText && t.Title != "":
		whole, text = t.Title+". "+t.Text, len(t.Title)+2
	}
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
		place := WordPlace{InTitle: at < text, Begin: at - text, End: end - text}
		if place.InTitle {
			place.Begin = at
			place.End = min(end, len(t.Title))
		}
		for range min(len(ids)-2, most-len(places)) {
			places = append(places, place)
		}
		at = end + 1
	}
	return places, nil
}
