package search

import (
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/learned"
)

// PassageReads is optionally implemented by a learned.PassageEncoder.
type PassageReads interface {
	// Reads reports whether the encoder reads only the beginning of a passage, and whether it can hardly read it.
	Reads(p corpus.Passage) (cut, unread bool)
}

// Reads reports whether an expert reads only the beginning of a passage, and whether one can hardly read it, for
// example because of its script. Of experts that read equally many tokens it asks one. Both are false if the engine is
// closed.
func (e *Engine) Reads(p corpus.Passage) (cut, unread bool) {
	l, err := e.useLineUp()
	if err != nil {
		return false, false
	}
	defer l.panel.Users.Leave()
	var limits []int
	ask := func(x *learned.Expert) {
		reader, ok := x.Passages.(PassageReads)
		if most := x.Info.MaxTokens["passage"]; ok && !slices.Contains(limits, most) {
			limits = append(limits, most)
			c, u := reader.Reads(p)
			cut, unread = cut || c, unread || u
		}
	}
	for _, x := range l.panel.Experts {
		if x.Model.Granularity == "" || x.Base {
			ask(x.Model)
		}
	}
	for _, x := range l.panel.Late {
		ask(x.Model)
	}
	return cut, unread
}
