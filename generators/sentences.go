package generators

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// cited matches one or more citations: [1], [2, 3], [4][5].
var cited = regexp.MustCompile(`\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\]`)

// number matches one of them.
var number = regexp.MustCompile(`\d+`)

// span is the place of a sentence in a text: from begin to end, and with its full stop and the citations after it to
// until. Citations that are added to a sentence are put at until.
type span struct {
	begin, end, until int
	opens             bool // it ends with a colon: it leads to what follows and states nothing
}

// sentencesOf returns the places of the sentences of a text in Markdown, in order. Items of a list and rows of a table
// are sentences of their own. Headings, the header of a table, code, and text without letter and digit are none.
func sentencesOf(text string) (spans []span) {
	for _, b := range blocksOf(text) {
		if b.row {
			spans = append(spans, span{b.begin, withoutMarks(text, b.begin, b.end), b.end, false})
			continue
		}
		spans = sentencesIn(spans, text, b)
	}
	return spans
}

// sentencesIn appends the sentences of a block of text. Citations at its beginning belong to the sentence before it. It
// returns spans with them.
func sentencesIn(spans []span, text string, b block) []span {
	at := b.begin
	// A line break inside a block ends no sentence, as it would by itself, and the brackets of citations none either.
	plain := cited.ReplaceAllStringFunc(text[b.begin:b.end], func(marks string) string {
		return strings.Repeat(" ", len(marks))
	})
	segments := sentences.FromString(strings.ReplaceAll(plain, "\n", " "))
	end := at
	for segments.Next() {
		end += len(segments.Value())
		if last := text[end-1]; end < b.end && (strings.IndexByte(".!?", last) >= 0) {
			continue // no white space behind it, as in the address /?q=x
		}
		for at < end {
			next := at + citationEnd(text[at:end])
			spans = appendSentence(spans, text, at, next)
			at = next
		}
	}
	return spans
}

// Citations beside a full stop end a sentence, whatever the next one begins with.
var (
	marksThenStop = regexp.MustCompile(`(?:\[[\d\s,;]+\]\s*)+[.!?…。！？]["”’)]*\s`)
	stopThenMarks = regexp.MustCompile(`[.!?…。！？]["”’)]*\s*(?:\[[\d\s,;]+\]\s*)+`)
)

// citationEnd returns the end of the first sentence of a text if citations end it; else the length of the text.
func citationEnd(text string) int {
	end := len(text)
	if m := marksThenStop.FindStringIndex(text); m != nil {
		end = m[1]
	}
	if m := stopThenMarks.FindStringIndex(text); m != nil && m[0] > 0 && m[1] < end {
		end = m[1]
	}
	return end
}

// appendSentence appends text[begin:end] as a sentence, without the white space around it. If it has no letter and no
// digit, its citations and punctuation go to the sentence before it.
func appendSentence(spans []span, text string, begin, end int) []span {
	for len(spans) > 0 { // citations behind a full stop are of the sentence before it
		rest := strings.TrimLeftFunc(text[begin:end], unicode.IsSpace)
		marks := cited.FindStringIndex(rest)
		if marks == nil || marks[0] != 0 {
			break
		}
		begin = end - len(rest) + marks[1]
		begin += len(text[begin:end]) - len(strings.TrimLeft(text[begin:end], ".!?"))
		spans[len(spans)-1].until = begin
	}
	body := strings.TrimSpace(text[begin:end])
	if !strings.ContainsFunc(cited.ReplaceAllString(body, ""), isWordRune) {
		return spans
	}
	begin += strings.Index(text[begin:end], body)
	until := begin + len(body)
	opens := strings.HasSuffix(strings.TrimRight(body, "*_ "), ":")
	return append(spans, span{begin, withoutMarks(text, begin, until), until, opens})
}

// withoutMarks returns the end of text[from:end] without the citations at its end.
func withoutMarks(text string, from, end int) int {
	for {
		rest := strings.TrimRightFunc(text[from:end], func(r rune) bool { return unicode.IsSpace(r) || r == '.' })
		all := cited.FindAllStringIndex(rest, -1)
		if len(all) == 0 || all[len(all)-1][1] != len(rest) {
			return end
		}
		end = from + len(strings.TrimRightFunc(rest[:all[len(all)-1][0]], unicode.IsSpace))
	}
}

// isWhole reports whether a sentence is complete, by the rest of the text after it: a letter has come, so nothing more
// can belong to the sentence.
func isWhole(rest string) bool { return strings.ContainsFunc(rest, unicode.IsLetter) }
