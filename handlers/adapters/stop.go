package adapters

import "strings"

// stopFilter cuts a text before the first of some stop texts in it. The zero value passes everything.
type stopFilter struct {
	texts   []string
	pending string // the end of the text so far, which may be the beginning of one of texts
	stopped bool
}

// filterPiece takes the next piece of the text and returns what to show of it now. Unless ends is set, the end of the
// piece may be held back until the next call. After a stop text it returns "" in all calls.
func (f *stopFilter) filterPiece(piece string, ends bool) string {
	if f.stopped {
		return ""
	}
	in := f.pending + piece
	f.pending = ""
	first := -1
	for _, text := range f.texts {
		if at := strings.Index(in, text); text != "" && at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	if first >= 0 {
		f.stopped = true
		return in[:first]
	}
	if ends {
		return in
	}
	keep := 0
	for _, text := range f.texts {
		for n := min(len(text)-1, len(in)); n > keep; n-- {
			if strings.HasSuffix(in, text[:n]) {
				keep = n
			}
		}
	}
	f.pending = in[len(in)-keep:]
	return in[:len(in)-keep]
}
