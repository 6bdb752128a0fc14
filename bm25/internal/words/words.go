// Package words finds the words of a text as Lucene 9.12's StandardTokenizer does:
// the longest matches of an automaton over classes of code points, which is made
// of the rules of Unicode Standard Annex #29 (see rules).
package words

import "unicode/utf8"

// MaxUnits is the length, in UTF-16 units, at which a word is cut in two, as in
// Lucene (StandardAnalyzer.DEFAULT_MAX_TOKEN_LENGTH).
const MaxUnits = 255

// A Scanner finds the words of a text, one after the other.
type Scanner struct {
	text   string
	at     int
	tables *tables
}

// Of returns a scanner at the beginning of a text. The first call makes the tables, in some milliseconds.
func Of(text string) Scanner { return Scanner{text: text, tables: load()} }

// At returns the offset in bytes at which the word ends that Next returned last: 0 before the first call, and
// len(text) once Next has returned "".
func (s *Scanner) At() int { return s.at }

// Next returns the next word as it stands in the text, not in lower case, and "" after the last one. Words do not
// overlap. A word of more than MaxUnits UTF-16 units is cut, and the rest is another word. Bytes that are not UTF-8
// are in no word.
func (s *Scanner) Next() string {
	text, t := s.text, s.tables
	automaton := t.automaton
	for s.at < len(text) {
		state := uint(1 << classBits)
		i := s.at
		units := 0
		longest := 0
		first := 0
		for i < len(text) {
			size := 1
			class := uint(0)
			if c := text[i]; c < utf8.RuneSelf {
				class = uint(t.low[c])
				units++
			} else {
				var r rune
				r, size = utf8.DecodeRuneInString(text[i:])
				class = uint(t.class(r))
				units++
				if r >= 0x10000 {
					units++
				}
			}
			if first == 0 {
				first = size
			}
			state = uint(automaton[state|class])
			if state == 0 || units > MaxUnits {
				break
			}
			i += size
			if state >= accepts {
				longest = i
				state = state &^ accepts
			}
		}
		if longest > 0 {
			word := text[s.at:longest]
			s.at = longest
			return word
		}
		if units > MaxUnits {
			// A run of one joiner ("____…") fills the window and is no word. Every
			// later start that sees nothing but the run fails alike: without this
			// a long run would be read MaxUnits times.
			s.at += runBeyondWindow(text[s.at:], first)
		}
		s.at += first
	}
	return ""
}

// runBeyondWindow returns how many bytes of the run of equal code points at the beginning of text can be skipped, so
// that MaxUnits of them are left. size is the length of one.
func runBeyondWindow(text string, size int) int {
	run := size
	for run+size <= len(text) && text[run:run+size] == text[:size] {
		run += size
	}
	return max(0, run-MaxUnits*size)
}
