package sources

import (
	"fmt"

	"example.org/conclave/fusion"
	"example.org/conclave/search/learned"
)

// firstGeneralist returns a pointer to the first expert without a domain; nil if all have one.
func firstGeneralist(experts []learned.Expert) *learned.Expert {
	for i := range experts {
		if len(experts[i].Representatives) == 0 {
			return &experts[i]
		}
	}
	return nil
}

// Wording returns how many words a question has, which share of them the general encoder knows, and a note for users if
// it cannot read all of the question; "" if it can. Without a general encoder both are zero.
func (p *Findings) Wording(question string) (w fusion.Wording, note string) {
	by := p.Generalist()
	if by == nil {
		return w, ""
	}
	x := by.Encoder
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
			by.Name, words, why,
		)
	default:
		note = fmt.Sprintf(
			"%s cannot read %d of the question's %d words: they are %s, so that passages were found by equal words more than by meaning",
			by.Name, unknown, words, why,
		)
	}
	return w, note
}
