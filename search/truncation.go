package search

import "conclave/corpus"

// read is how many tokens an expert reads of texts, and the positions of those of
// which it reads only the beginning.
func (x *Expert) read(kind string, texts []string) (tokens int, truncated []int) {
	for i, text := range texts {
		n, cut := 0, false
		if kind == KindPassage {
			n, cut = x.Passages.PassageTokens(corpus.Passage{Text: text})
		} else {
			n, cut = x.Encoder.QuestionTokens(text)
		}
		if tokens += n; cut {
			truncated = append(truncated, i)
		}
	}
	return tokens, truncated
}
