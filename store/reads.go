package store

import (
	"fmt"

	"example.org/conclave/internal/corpus"
)

// PassageReader is what a PassageEncoder can say, too: how it reads a passage.
type PassageReader interface {
	// Reads reports whether the encoder reads only the beginning of a passage, and whether
	// it can hardly read it: less than half of its characters.
	Reads(p corpus.Passage) (cut, unread bool)
}

// Wrapping is what a PassageEncoder is, too, that hands passages to another one.
type Wrapping interface {
	// Unwrap returns the other one.
	Unwrap() PassageEncoder
}

// readerOf returns how an encoder, or the one that it wraps, reads passages; nil if it cannot say.
func readerOf(e PassageEncoder) PassageReader {
	for {
		if r, ok := e.(PassageReader); ok {
			return r
		}
		w, ok := e.(Wrapping)
		if !ok {
			return nil
		}
		e = w.Unwrap()
	}
}

// Reads is how the encoders read the passages of a collection. Cut and Unread are of those
// that were Known: passages that were indexed without an expert that tells it are Unknown.
type Reads struct {
	Known  int // passages
	Cut    int // of which an encoder reads only the beginning
	Unread int // which an encoder can hardly read
	// Unknown are the passages that were not looked at, of a collection with experts.
	Unknown int
}

// ReadsOf returns how encoders read a passage: what holds for any of them. What is in a window of a long passage
// (WindowReader) counts as read. known is false if no encoder is a PassageReader or wraps one.
func ReadsOf(encoders []PassageEncoder, p corpus.Passage) (cut, unread, known bool) {
	for _, e := range encoders {
		if r := readerOf(e); r != nil {
			c, u := r.Reads(p)
			if w, ok := e.(WindowReader); ok && c {
				_, c = w.Windows(p)
			}
			cut = cut || c
			unread = unread || u
			known = true
		}
	}
	return cut, unread, known
}

// Warnings returns a sentence for each of these that is so: some passages can hardly be read, some are cut, of some
// it is not known. It returns nil if the experts read all passages whole, or none tells how it reads.
func (r Reads) Warnings() (warnings []string) {
	if r.Unread > 0 {
		warnings = append(
			warnings,
			fmt.Sprintf(
				"the experts can hardly read %d of %d passages, which are in a script or of characters that they were not trained on (the shipped ones read English): these are found by equal words alone",
				r.Unread, r.Known,
			),
		)
	}
	if r.Cut > 0 {
		warnings = append(
			warnings,
			fmt.Sprintf(
				"the experts do not read all of %d of %d passages, which are too long for them: what stands further on is found by equal words alone, or once such passages are split",
				r.Cut, r.Known,
			),
		)
	}
	if r.Known > 0 && r.Unknown > 0 {
		warnings = append(
			warnings,
			fmt.Sprintf(
				"of %d of %d passages, which were indexed before there was an expert that says so, it is not known whether the experts read them: index them again to learn it",
				r.Unknown, r.Known+r.Unknown,
			),
		)
	}
	return warnings
}
