package store

import (
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
)

// WindowReader is what a PassageEncoder can be, too: an encoder that reads a passage which is too long for it in
// several windows, each of which gets vectors. A late one has all of them in the passage's list.
type WindowReader interface {
	// Windows returns the parts of a passage's text to encode one by one, in order; nil: the passage is encoded as it
	// is; none, but not nil: it is not encoded, and has no vector (LeavesOut). cut says that the passage has text
	// behind its windows, or without any behind what is read of it.
	Windows(p corpus.Passage) (windows []rank.Span, cut bool)
}

// WindowsOf returns the windows in which an encoder reads a passage, as byte ranges of its text in order. It returns
// nil if the encoder is no WindowReader, or reads the passage as it is, and an empty slice that is not nil if it
// leaves the passage out.
func WindowsOf(e PassageEncoder, p corpus.Passage) []rank.Span {
	r, ok := e.(WindowReader)
	if !ok {
		return nil
	}
	windows, _ := r.Windows(p)
	return windows
}

// LeavesOut reports whether an encoder leaves a passage out, such as one in a language that it does not read: the
// passage then has no vector of its expert, is no hit of it, and has the score rank.NoVector.
func LeavesOut(e PassageEncoder, p corpus.Passage) bool {
	windows := WindowsOf(e, p)
	return windows != nil && len(windows) == 0
}

// EncodedPassage is what an expert has of one passage.
type EncodedPassage struct {
	// Vectors are none if the expert leaves the passage out. Otherwise they are its vector; of a passage that is read
	// in windows their vectors one after the other, and of a late expert the list of its tokens' vectors.
	Vectors []float32
	// Windows are the parts of the text that the vectors are of, one each. Nil: there is one vector, of the whole
	// passage, or the expert is late.
	Windows []rank.Span
}

// inWindows is passages as an encoder reads them: long ones in several windows.
type inWindows struct {
	texts []corpus.Passage // passages, or windows of them as passages with that part of the text
	spans [][]rank.Span    // of each passage: its windows; nil: it is read as it is; empty: it is left out
}

// splitIntoWindows returns the texts that an encoder reads of passages, in order: a passage as it is, or, if e is a
// WindowReader that reads it in windows, a copy of the passage for each window with that part of the text. A passage
// that it leaves out has none.
func splitIntoWindows(e PassageEncoder, passages []corpus.Passage) inWindows {
	w := inWindows{spans: make([][]rank.Span, len(passages))}
	for i, p := range passages {
		w.spans[i] = WindowsOf(e, p)
		if w.spans[i] == nil {
			w.texts = append(w.texts, p)
		}
		for _, s := range w.spans[i] {
			part := p
			part.Text = p.Text[s.Begin:s.End]
			w.texts = append(w.texts, part)
		}
	}
	return w
}

// join returns the encoded passages from the vectors of w.texts, which it takes in order: those of the windows of a
// passage are concatenated. With late, windows are left out of the result. It panics if there are fewer vectors than
// texts.
func (w *inWindows) join(vectors [][]float32, late bool) []EncodedPassage {
	out := make([]EncodedPassage, len(w.spans))
	from := 0
	for i, spans := range w.spans {
		to := from + textsIn(spans)
		out[i].Vectors = slices.Concat(vectors[from:to]...)
		if !late {
			out[i].Windows = spans
		}
		from = to
	}
	return out
}

// textsIn returns how many texts are encoded of a passage with these windows: 1 if they are nil (WindowsOf).
func textsIn(windows []rank.Span) int {
	if windows == nil {
		return 1
	}
	return len(windows)
}
