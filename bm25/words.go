package bm25

import (
	"unicode/utf8"
)

//go:generate go run ./internal/wordtables

// maxWord is the length, in UTF-16 units, at which a word is cut in two, as in
// Lucene (StandardAnalyzer.DEFAULT_MAX_TOKEN_LENGTH).
const maxWord = 255

// classRange gives a class to the code points from first to last.
type classRange struct {
	first, last uint32
	class       uint8
}

// nextWord finds the next word of a text at or after a byte offset: text[start:end].
// Without one, end is 0.
//
// What a word is, is decided by Unicode Standard Annex #29 as Lucene's
// StandardTokenizer applies it (see internal/wordtables): the longest match of
// an automaton over classes of code points, within a window of maxWord UTF-16
// units. A byte that is not UTF-8 is read as U+FFFD, which is in no word.
func nextWord(text string, at int) (start, end int) {
	for at < len(text) {
		state, i, units, longest, first := uint(wordStart), at, 0, 0, 0
		for i < len(text) {
			size, class := 1, uint(0)
			if c := text[i]; c < utf8.RuneSelf {
				class = uint(lowClasses[c])
				units++
			} else {
				var r rune
				r, size = utf8.DecodeRuneInString(text[i:])
				class = uint(classOf(uint32(r)))
				units++
				if r >= 0x10000 {
					units++
				}
			}
			if first == 0 {
				first = size
			}
			state = uint(wordAutomaton[state<<wordClassBits|class])
			if state == 0 || units > maxWord {
				break
			}
			i += size
			if state >= wordAccepting {
				longest = i
			}
		}
		if longest > 0 {
			return at, longest
		}
		if units > maxWord {
			// A run of one joiner ("____…") fills the window and is no word. Every
			// later start that sees nothing but the run fails alike: without this
			// a long run would be read maxWord times.
			at += runBeyondWindow(text[at:], first)
		}
		at += first
	}
	return 0, 0
}

// runBeyondWindow is how many bytes of a run of equal code points of the given
// size lie before the last window that the run fills.
func runBeyondWindow(text string, size int) int {
	run := size
	for run+size <= len(text) && text[run:run+size] == text[:size] {
		run += size
	}
	return max(0, run-maxWord*size)
}

func classOf(c uint32) uint8 {
	if c < uint32(len(lowClasses)) {
		return lowClasses[c]
	}
	low, high := 0, len(highClasses)
	for low < high {
		if middle := int(uint(low+high) >> 1); highClasses[middle].last < c {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low < len(highClasses) && highClasses[low].first <= c {
		return highClasses[low].class
	}
	return 0
}
