package encoder

import (
	"strings"
	"unicode/utf8"

	"example.org/conclave/encoder/wordpiece"
)

// cellMark separates the cells of a row of a table, as documents are written into passages.
const cellMark = " | "

// wrappedLine is the least number of characters of a line that may have been wrapped: a shorter one ends where its
// author ended it.
const wrappedLine = 50

// unitsOf returns for each token of a text the number of the unit that it is in, ascending: a cell of a table, an
// item of a list or a paragraph. An answer lies within one. words are the places of the tokens, in order. A line
// break ends a unit unless the line before it may have been wrapped there: it is long, and does not end a sentence.
func unitsOf(text string, words []wordpiece.Range) []int {
	units := make([]int, len(words))
	unit, at := 0, 0
	begin := 0
	for begin < len(text) {
		line := text[begin:]
		if end := strings.IndexByte(line, '\n'); end >= 0 {
			line = line[:end]
		}
		row := strings.Contains(line, cellMark)
		if row {
			unit++ // also where the line before it may be wrapped
		}
		cellEnd := begin
		for cell := range strings.SplitSeq(line, cellMark) {
			cellEnd += len(cell)
			for ; at < len(words) && words[at].Begin < cellEnd; at++ {
				units[at] = unit
			}
			cellEnd += len(cellMark)
			if row {
				unit++
			}
		}
		begin += len(line) + 1
		if !row && !isWrapped(line) {
			unit++
		}
	}
	return units
}

// isWrapped reports whether the sentence in a line may go on in the next one: the line has wrappedLine characters
// or more and does not end a sentence.
func isWrapped(line string) bool {
	line = strings.TrimRight(line, " \t\r")
	if utf8.RuneCountInString(line) < wrappedLine {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(line)
	return !strings.ContainsRune(".!?:;。！？", last)
}
