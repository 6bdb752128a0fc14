package search

import (
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/learned"
)

// PassageReads is what a PassageEncoder can say, too: whether it reads only the beginning
// of a passage, and whether it can hardly read it.
type PassageReads interface {
	Reads(p corpus.Passage) (cut, unread bool)
}

// Reads reports whether any of the experts reads only the beginning of a passage, and
// whether any can hardly read it. Experts that read equally many tokens are asked once.
func (e *Engine) Reads(p corpus.Passage) (cut, unread bool) {
	l, err := e.begin()
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
	if l.panel.Late != nil {
		ask(l.panel.Late.Model)
	}
	return cut, unread
}
