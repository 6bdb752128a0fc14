package granules

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// sentencesOf returns the sentences of a text, in order and without the white space around them; none of a blank
// text. They are those of Unicode Standard Annex 29, section 5, which knows all scripts, with what it leaves to a
// language: a full stop after an abbreviation, an initial or the number of a list ends no sentence, and neither
// does a quotation after which its sentence continues. The abbreviations are English. A line break alone ends no
// sentence, two do, and so does one before an item of a list.
func sentencesOf(text string) []span {
	var found []span
	joined := false // the next part belongs to the last
	opened := 0     // where the brackets begin that the annex leaves with the sentence before them
	for s := sentences.FromString(prepareText(text)); s.Next(); {
		part := trimSpan(text, span{s.Start(), s.End()})
		if opened > 0 {
			part.begin, opened = opened, 0
		}
		if body := strings.TrimRightFunc(text[part.begin:part.end], isBracket); body != "" && s.End() < len(text) &&
			part.begin+len(body) < part.end {
			opened = part.begin + len(body)
			part = trimSpan(text, span{part.begin, opened})
		}
		switch {
		case part.begin == part.end:
			continue
		case joined && len(found) > 0:
			found[len(found)-1].end = part.end
		default:
			found = append(found, part)
		}
		last := found[len(found)-1]
		joined = goesOn(text[last.begin:last.end], text[last.end:])
	}
	return found
}

// trimSpan returns a span without the white space at its ends; an empty one if it has nothing else.
func trimSpan(text string, s span) span {
	s.end = s.begin + len(strings.TrimRightFunc(text[s.begin:s.end], unicode.IsSpace))
	s.begin = s.end - len(strings.TrimLeftFunc(text[s.begin:s.end], unicode.IsSpace))
	return s
}

// prepareText returns the text to which the annex's rules are applied; it is as long in bytes. A line break inside a
// paragraph becomes a space, since a file may have lines of a fixed length. Before an item of a list, and between the
// end of a sentence and a digit, a space becomes a line break, since the annex takes what follows for the same
// sentence.
func prepareText(text string) string {
	out := []byte(text)
	for i, c := range out {
		switch c {
		case '\r':
			out[i] = ' '
		case '\n':
			before := strings.TrimRight(text[:i], " \t\r")
			after := strings.TrimLeft(text[i+1:], " \t\r")
			if !strings.HasSuffix(before, "\n") && !strings.HasPrefix(after, "\n") && !isItem(after) {
				out[i] = ' '
			}
		case ' ':
			if before := strings.TrimRightFunc(text[:i], isClosing); before != "" &&
				strings.Contains(".!?", before[len(before)-1:]) {
				if after := text[i+1:]; after != "" && (isItem(after) || '0' <= after[0] && after[0] <= '9') {
					out[i] = '\n'
				}
			}
		}
	}
	return string(out)
}

// longestNumber is the number of bytes at the beginning of a line in which the number of an item is looked for.
const longestNumber = 8

// isItem reports whether a line begins as an item of a list does, with a number or a bullet.
func isItem(line string) bool {
	word, _, spaced := strings.Cut(line[:min(len(line), longestNumber)], " ")
	if !spaced {
		return false
	}
	switch word {
	case "-", "*", "+", "•", "–", "—", "·":
		return true
	}
	return isItemNumber(word)
}

// isItemNumber reports whether a word is the number of an item: "1.", "12)", "(3)" or "b)".
func isItemNumber(word string) bool {
	number := strings.TrimPrefix(word, "(")
	if bare := strings.TrimRight(number, ".)"); bare != number {
		if len(bare) == 1 && 'a' <= bare[0] && bare[0] <= 'z' {
			return true
		}
		return len(bare) > 0 && len(bare) < 4 && strings.Trim(bare, "0123456789") == ""
	}
	return false
}

// goesOn reports whether a sentence that seems to end continues in after, the text that follows it: it ends with an
// abbreviation, an initial or the number of an item, or its quotation has ended.
func goesOn(sentence, after string) bool {
	rest := strings.TrimLeftFunc(after, unicode.IsSpace)
	if rest == "" || strings.Count(after[:len(after)-len(rest)], "\n") > 1 {
		return false
	}
	next, _ := utf8.DecodeRuneInString(rest)
	if last, _ := utf8.DecodeLastRuneInString(sentence); isQuote(last) {
		return unicode.IsLower(next) || next == 'と' // “Stop!” he said
	}
	body := strings.TrimRightFunc(sentence, isClosing)
	if !strings.HasSuffix(body, ".") || strings.HasSuffix(body, "..") {
		return false
	}
	before, word := lastWord(body)
	if before == "" && isItemNumber(word) {
		return true // 1. The first item
	}
	_, before = lastWord(before)
	word = strings.TrimLeftFunc(word, isOpening)
	before = strings.ToLower(before)
	bare := strings.TrimSuffix(word, ".")
	switch key := strings.ToLower(bare); {
	case isInitials(bare):
		return !lettered[before] && !beginsSentence(rest)
	case titles[key]:
		return true
	case beforeNumbers[key]:
		return unicode.IsDigit(next)
	default:
		return shortened[key] && !beginsSentence(rest)
	}
}

// lastWord returns the last word of a text and the text before it, without white space at its end. The text has to
// end without white space.
func lastWord(text string) (before, word string) {
	at := strings.LastIndexFunc(text, unicode.IsSpace) + 1
	if at > 0 {
		_, size := utf8.DecodeRuneInString(text[at-1:])
		at += max(size, 1) - 1
	}
	return strings.TrimRightFunc(text[:at], unicode.IsSpace), text[at:]
}

// isInitials reports whether a word, without its last full stop, is a capital letter or several with full stops
// between, such as "J" or "U.S". The word "I" and Chinese characters are none.
func isInitials(word string) bool {
	letters := strings.Split(word, ".")
	for _, l := range letters {
		if r, size := utf8.DecodeRuneInString(l); size != len(l) || !unicode.IsUpper(r) || unicode.In(r, unicode.Han) {
			return false
		}
	}
	return word != "I"
}

// beginsSentence reports whether a text begins with a word that opens sentences more often than it is a part of a name.
func beginsSentence(text string) bool {
	word := strings.TrimLeftFunc(text, isOpening)
	if end := strings.IndexFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }); end >= 0 {
		word = word[:end]
	}
	return starters[word]
}

// isQuote reports whether a rune is a quotation mark, opening or closing.
func isQuote(r rune) bool {
	return r == '"' || r == '\'' || r == '」' || r == '』' || unicode.In(r, unicode.Pf, unicode.Pi)
}

// isClosing reports whether a rune closes a quotation or brackets.
func isClosing(r rune) bool { return isQuote(r) || unicode.Is(unicode.Pe, r) }

// isBracket reports whether a rune is an opening bracket.
func isBracket(r rune) bool { return unicode.Is(unicode.Ps, r) }

// isOpening reports whether a rune opens a quotation or brackets.
func isOpening(r rune) bool { return isQuote(r) || isBracket(r) }

// titles are abbreviations that never end a sentence.
var titles = wordSet(`dr mr mrs ms mme mlle prof rev hon pres gov sen rep gen col lt cmdr maj sgt capt adm
	messrs st mt ft vs v e.g i.e eg ie cf viz approx ca fig figs eq eqs ref refs`)

// beforeNumbers are abbreviations that end no sentence if a number follows.
var beforeNumbers = wordSet(`no n° nos vol vols pp p ch sec`)

// shortened are abbreviations that may end a sentence.
var shortened = wordSet(`inc ltd co corp bros jr sr etc al dept univ assn ave blvd rd est a.m p.m ph.d m.d b.a m.a
	jan feb mar apr jun jul aug sep sept oct nov dec ed eds sp spp subsp var`)

// lettered are words after which a single letter is no initial.
var lettered = wordSet(`vitamin vitamins hepatitis influenza type types group class grade plan part phase stage
	figure table section appendix team gate exhibit`)

// starters are words that begin a sentence more often than a name.
var starters = wordSet(`The A An This That These Those There Then Thus Therefore They He She It We You I In On At As
	After Although And But Or So If When While Where What Who Why How Which For From By With Without To Its His
	Her Their Our My Your However Moreover Furthermore Because Since During Before Once Now Here Some Many Most
	Other Others Another Both Each All Not No Yes One Two Such Only Also Even Later Today Finally First Second
	Between Among Under Over Until Upon Did Do Does Is Are Was Were Have Has Had Can Could Will Would Should`)

// wordSet returns the set of the words of a list that are separated by white space.
func wordSet(list string) map[string]bool {
	words := map[string]bool{}
	for _, s := range strings.Fields(list) {
		words[s] = true
	}
	return words
}
