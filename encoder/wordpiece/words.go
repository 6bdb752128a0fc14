package wordpiece

import "unicode/utf8"

// splitWords calls yield with each word of a normalised text, in order, until it returns false: runs between
// spaces, with every punctuation mark a word by itself. The words are parts of text, not copies.
func (c *classes) splitWords(text string, yield func(word string) bool) {
	start := 0
	for i := 0; i < len(text); {
		r := rune(text[i])
		size := 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		switch c.classify(r) {
		case space:
			if start < i && !yield(text[start:i]) {
				return
			}
			start = i + size
		case punctuation:
			if start < i && !yield(text[start:i]) {
				return
			}
			if !yield(text[i : i+size]) {
				return
			}
			start = i + size
		}
		i += size
	}
	if start < len(text) {
		yield(text[start:])
	}
}
