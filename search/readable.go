package search

import "fmt"

// readerOf is the first expert that is no specialist; nil where there is none.
func readerOf(experts []Expert) *Expert {
	for i := range experts {
		if len(experts[i].Representatives) == 0 {
			return &experts[i]
		}
	}
	return nil
}

// knownWords is the share of the question's words that the encoders know, 0 where
// there are none, and a note for people when they cannot read most of it.
func (l *lineUp) knownWords(question string) (share float64, note string) {
	if l.reader == nil {
		return 0, ""
	}
	words, whole, unknown := l.reader.Encoder.KnownWords(question)
	if words == 0 {
		return 0, ""
	}
	if 2*unknown > words {
		note = fmt.Sprintf("%s cannot read %d of the question's %d words: they are in a script or of characters that it was not trained on (the shipped encoders read English), so that the answer is little more than chance", l.reader.Name, unknown, words)
	}
	return float64(whole) / float64(words), note
}
