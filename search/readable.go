package search

import (
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
)

// firstGeneralist returns the first expert that is no specialist; nil where there is none.
func firstGeneralist(experts []Expert) *Expert {
	for i := range experts {
		if len(experts[i].Representatives) == 0 {
			return &experts[i]
		}
	}
	return nil
}

// wording returns what the encoders make of the question's words, and a note for people when
// they cannot read most of them.
func (l *lineUp) wording(question string) (w fusion.Wording, note string) {
	if l.generalist == nil {
		return w, ""
	}
	x := l.generalist.Encoder
	words, whole, unknown := x.KnownWords(question)
	if words > 0 {
		w = fusion.Wording{Words: words, Known: float64(whole) / float64(words)}
	}
	const why = "in a script or of characters that it was not trained on (the shipped encoders read English)"
	switch read := x.Readable(question); {
	case read == 1:
	case read == 0:
		note = fmt.Sprintf(
			"%s can read none of the question's %d words: they are %s, so that passages were found by equal words alone",
			l.generalist.Name,
			words,
			why,
		)
	default:
		note = fmt.Sprintf(
			"%s cannot read %d of the question's %d words: they are %s, so that passages were found by equal words more than by meaning",
			l.generalist.Name,
			unknown,
			words,
			why,
		)
	}
	return w, note
}

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

// countTokens returns how many tokens an expert reads of texts, and the positions of those of
// which it reads only the beginning.
func (x *Expert) countTokens(kind string, texts []string) (tokens int, truncated []int) {
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
