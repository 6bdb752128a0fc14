package store

import (
	"fmt"
	"unicode/utf8"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
)

// Cut returns the parts of p that the encoder wants to encode, each as a copy of p with the part as its text, and the
// byte range of each part in p.Text. If the encoder takes no parts (Parts is nil), parts is p alone and spans is nil.
// If it finds no part, the whole text is one. If it leaves the passage out (LeavesOut), there are no parts and no
// spans. Cut fails if a part lies outside of the text, or begins or ends inside a character.
func Cut(encoder PassageEncoder, p corpus.Passage) (parts []corpus.Passage, spans []rank.Span, err error) {
	cut := encoder.Parts()
	if cut == nil {
		return []corpus.Passage{p}, nil, nil
	}
	if LeavesOut(encoder, p) {
		return nil, nil, nil
	}
	spans = cut(p.Text)
	if len(spans) == 0 {
		spans = []rank.Span{{End: uint32(len(p.Text))}}
	}
	boundary := func(at uint32) bool { return int(at) == len(p.Text) || utf8.RuneStart(p.Text[at]) }
	for _, s := range spans {
		if s.Begin > s.End || int(s.End) > len(p.Text) || !boundary(s.Begin) || !boundary(s.End) {
			return nil, nil, fmt.Errorf(
				"expert %s cuts passage %q, of %d bytes, from byte %d to byte %d", encoder.Name(), p.ID, len(p.Text),
				s.Begin, s.End,
			)
		}
		part := p
		part.Text = p.Text[s.Begin:s.End]
		parts = append(parts, part)
	}
	return parts, spans, nil
}
