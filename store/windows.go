package store

import (
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
)

// WindowReader is what a PassageEncoder can be, too: an encoder that reads a passage which is too long for it in
// several windows, each of which gets vectors. A late one has all of them in the passage's list.
type WindowReader interface {
	// Windows returns the parts of a passage's text to encode one by one, in order; nil: the passage is encoded as it
	// is. cut says that the passage has text behind its windows, or without any behind what is read of it.
	Windows(p corpus.Passage) (windows []rank.Span, cut bool)
}

// WindowsOf returns the windows in which an encoder reads a passage; nil: it is encoded as it is.
func WindowsOf(e PassageEncoder, p corpus.Passage) []rank.Span {
	r, ok := e.(WindowReader)
	if !ok {
		return nil
	}
	windows, _ := r.Windows(p)
	return windows
}
