package sources

import (
	"fmt"

	"example.org/conclave/fusion"
	"example.org/conclave/search/learned"
)

// firstGeneralist returns the first expert that is no specialist; nil where there is none.
func firstGeneralist(experts []learned.Expert) *learned.Expert {
	for i := range experts {
		if len(experts[i].Representatives) == 0 {
			return &experts[i]
		}
	}
	return nil
}

// Wording returns how many words of a question the encoders know, and a note for users if they cannot read most of
// them ("": they can).
func (p *Panel) Wording(question string) (w fusion.Wording, note string) {
	if p.Generalist == nil {
		return w, ""
	}
	x := p.Generalist.Encoder
	words, whole, unknown := x.KnownWords(question)
	if words > 0 {
		w = fusion.Wording{Words: words, Known: float64(whole) / float64(words)}
	}
	const why = "in a script or of characters that it was not trained on (the shipped encoders read English)"
	switch read := x.Readable(question); {
	case read == 1:
	case read == 0:
		note = fmt.Sprintf(
			"%s can read none of the question's %d words: they are %s, so that passages were found by equal words alone",
			p.Generalist.Name,
			words,
			why,
		)
	default:
		note = fmt.Sprintf(
			"%s cannot read %d of the question's %d words: they are %s, so that passages were found by equal words more than by meaning",
			p.Generalist.Name,
			unknown,
			words,
			why,
		)
	}
	return w, note
}
