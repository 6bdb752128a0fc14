package search

import (
	"slices"

	"example.org/conclave/internal/corpus"
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
	defer l.leave()
	var limits []int
	ask := func(x *Expert) {
		reader, ok := x.Passages.(PassageReads)
		if most := x.Info.MaxTokens["passage"]; ok && !slices.Contains(limits, most) {
			limits = append(limits, most)
			c, u := reader.Reads(p)
			cut, unread = cut || c, unread || u
		}
	}
	for _, x := range l.experts {
		if x.Granularity == "" || x.base {
			ask(x.Expert)
		}
	}
	if l.late != nil {
		ask(l.late.Expert)
	}
	return cut, unread
}

// read returns how many tokens an expert reads of texts, and the positions of those of
// which it reads only the beginning.
func (x *Expert) read(kind string, texts []string) (tokens int, truncated []int) {
	for i, text := range texts {
		n, cut := 0, false
		if kind == KindPassage {
			n, cut = x.Passages.PassageTokens(corpus.Passage{Text: text})
		} else {
			n, cut = x.Encoder.QuestionTokens(text)
		}
		tokens += n
		if cut {
			truncated = append(truncated, i)
		}
	}
	return tokens, truncated
}
