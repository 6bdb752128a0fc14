package search

import "conclave/corpus"

// An encoder reads the beginning of a text that is longer than its limit. One
// that has these methods too says how many tokens it reads and whether there are more,
// so that answers can tell.
type (
	questionLimit interface {
		QuestionTokens(text string) (read int, cut bool)
	}
	passageLimit interface {
		PassageTokens(p corpus.Passage) (read int, cut bool)
	}
)

// cutsQuestion reports whether the encoder reads only the beginning of a
// question.
func cutsQuestion(encoder QuestionEncoder, text string) bool {
	limited, ok := encoder.(questionLimit)
	if !ok {
		return false
	}
	_, cut := limited.QuestionTokens(text)
	return cut
}

// read is how many tokens an expert reads of texts, and the positions of those of
// which it reads only the beginning.
func (x *Expert) read(kind string, texts []string) (tokens int, truncated []int) {
	questions, reads := x.Encoder.(questionLimit)
	var passages passageLimit
	if kind == KindPassage {
		passages, reads = x.Passages.(passageLimit)
	}
	if !reads {
		return 0, nil
	}
	for i, text := range texts {
		var n int
		var cut bool
		if kind == KindPassage {
			n, cut = passages.PassageTokens(corpus.Passage{Text: text})
		} else {
			n, cut = questions.QuestionTokens(text)
		}
		if tokens += n; cut {
			truncated = append(truncated, i)
		}
	}
	return tokens, truncated
}
