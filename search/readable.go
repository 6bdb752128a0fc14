package search

import (
	"fmt"

	"conclave/fusion"
)

// readerOf is the first expert that is no specialist; nil where there is none.
func readerOf(experts []Expert) *Expert {
	for i := range experts {
		if len(experts[i].Representatives) == 0 {
			return &experts[i]
		}
	}
	return nil
}

// wording is what the encoders make of the question's words, and a note for people when
// they cannot read most of them.
func (l *lineUp) wording(question string) (w fusion.Wording, note string) {
	if l.reader == nil {
		return w, ""
	}
	words, whole, unknown := l.reader.Encoder.KnownWords(question)
	if words == 0 {
		return w, ""
	}
	if 2*unknown > words {
		note = fmt.Sprintf("%s cannot read %d of the question's %d words: they are in a script or of characters that it was not trained on (the shipped encoders read English), so that the answer is little more than chance", l.reader.Name, unknown, words)
	}
	return fusion.Wording{Words: words, Known: float64(whole) / float64(words)}, note
}
