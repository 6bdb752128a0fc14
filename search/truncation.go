package search

import "conclave/corpus"

// An encoder reads the beginning of a text that is longer than its limit. One
// that has these methods too says of which texts, so that answers can tell.
type (
	questionLimit interface{ CutsQuestion(text string) bool }
	passageLimit  interface{ CutsPassage(p corpus.Passage) bool }
)

// cutsQuestion reports whether the encoder reads only the beginning of a
// question.
func cutsQuestion(encoder QuestionEncoder, text string) bool {
	limited, ok := encoder.(questionLimit)
	return ok && limited.CutsQuestion(text)
}

// truncated are the positions of the texts of which an expert reads only the
// beginning.
func (x *Expert) truncated(kind string, texts []string) []int {
	var out []int
	for i, text := range texts {
		cut := false
		if kind == KindPassage {
			limited, ok := x.Passages.(passageLimit)
			cut = ok && limited.CutsPassage(corpus.Passage{Text: text})
		} else {
			cut = cutsQuestion(x.Encoder, text)
		}
		if cut {
			out = append(out, i)
		}
	}
	return out
}
