package search

import (
	"fmt"

	"example.org/conclave/fusion"
)

// readerOf returns the first expert that is no specialist; nil where there is none.
func readerOf(experts []Expert) *Expert {
	for i := range experts {
		if len(experts[i].Representatives) == 0 {
			return &experts[i]
		}
	}
	return nil
}

// wording returns what the encoders make of the question's words, and a note for people when
// they cannot read most of them.
func (l *lineUp) wording(question string) (w fusion.Wording, note string) {
	if l.reader == nil {
		return w, ""
	}
	x := l.reader.Encoder
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
			l.reader.Name,
			words,
			why,
		)
	default:
		note = fmt.Sprintf(
			"%s cannot read %d of the question's %d words: they are %s, so that passages were found by equal words more than by meaning",
			l.reader.Name,
			unknown,
			words,
			why,
		)
	}
	return w, note
}
