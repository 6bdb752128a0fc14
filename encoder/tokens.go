package encoder

import "fmt"

// A late expert's graph gives a row of dimension+1 numbers for every token of a
// text: its vector, then its importance. This file turns rows into the vectors
// that callers get (Khattab & Zaharia 2020, "ColBERT", section 3; there all of
// a question's tokens have equal weight).

// wordRows returns the rows of the tokens without the first and the last, [CLS] and [SEP], as a part of tokens; if
// there are no others, it returns all.
func wordRows(tokens []float32, dimension int) []float32 {
	width := dimension + 1
	if len(tokens) <= 2*width {
		return tokens
	}
	return tokens[width : len(tokens)-width]
}

// unitRows returns a passage's token vectors, each of unit length, in new memory.
func unitRows(tokens []float32, dimension int) []float32 {
	tokens = wordRows(tokens, dimension)
	width := dimension + 1
	out := make([]float32, 0, len(tokens)/width*dimension)
	for ; len(tokens) > 0; tokens = tokens[width:] {
		out = append(out, tokens[:dimension]...)
	}
	return out
}

// importanceRows returns a question's token vectors in new memory, each multiplied by the token's share of the
// importance. If rounding has left no importance at all, all tokens have the same share.
func importanceRows(tokens []float32, dimension int) []float32 {
	tokens = wordRows(tokens, dimension)
	width := dimension + 1
	total := 0.0
	for i := dimension; i < len(tokens); i += width {
		total += float64(tokens[i])
	}
	n := len(tokens) / width
	out := make([]float32, 0, n*dimension)
	for ; len(tokens) > 0; tokens = tokens[width:] {
		share := 1 / float64(n)
		if total > 0 {
			share = float64(tokens[dimension]) / total
		}
		for _, x := range tokens[:dimension] {
			out = append(out, float32(share*float64(x)))
		}
	}
	return out
}

// tryTokens returns an error unless all vectors of a late graph's rows have unit length and all importances are
// above 0.
func (s *session) tryTokens(tokens []float32) error {
	for ; len(tokens) > 0; tokens = tokens[s.width:] {
		if err := tryLength(s.file, tokens[:s.width-1]); err != nil {
			return err
		}
		if importance := tokens[s.width-1]; !(importance > 0) {
			return fmt.Errorf("%s gave a token an importance of %g, which must be above 0", s.file, importance)
		}
	}
	return nil
}
