package generators

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// cited matches one or more citations: [1], [2, 3], [4][5].
var cited = regexp.MustCompile(`\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\]`)

// number matches one of them.
var number = regexp.MustCompile(`\d+`)

// item matches the number of an item of a list.
var item = regexp.MustCompile(`^\d{1,2}[.)]?$`)

// span is where a sentence lies in a text: from begin to end, and with the citations behind it to
// until.
type span struct{ begin, end, until int }

// sentencesOf returns where the sentences of a text lie. What has no letter and no digit beside
// citations is none.
func sentencesOf(text string) (spans []span) {
	at := 0
	segments := sentences.FromString(text)
	for segments.Next() {
		segment := segments.Value()
		begin := at
		at += len(segment)
		// Citations behind a full stop are of the sentence before it.
		lead := 0
		for len(spans) > 0 {
			rest := strings.TrimLeftFunc(segment[lead:], unicode.IsSpace)
			marks := cited.FindStringIndex(rest)
			if marks == nil || marks[0] != 0 {
				break
			}
			lead = len(segment) - len(rest) + marks[1]
		}
		if lead > 0 {
			lead += len(segment[lead:]) - len(strings.TrimLeft(segment[lead:], ".!?"))
			spans[len(spans)-1].until = begin + lead
		}
		body := segment[lead:]
		trimmed := strings.TrimSpace(body)
		if !strings.ContainsFunc(cited.ReplaceAllString(trimmed, ""), wordy) {
			continue
		}
		from := begin + lead + strings.Index(body, trimmed)
		until := from + len(trimmed)
		if last := len(spans) - 1; last >= 0 && counts(text, spans[last]) {
			spans = spans[:last]
		}
		spans = append(spans, span{from, withoutMarks(text, from, until), until})
	}
	return spans
}

// withoutMarks returns where a sentence ends without the citations that it ends with.
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

// counts reports whether a sentence is no more than the number of an item of a list.
func counts(text string, s span) bool {
	before := strings.TrimRight(text[:s.begin], " \t")
	return item.MatchString(text[s.begin:s.until]) && (before == "" || strings.HasSuffix(before, "\n"))
}

// beginsSentence reports whether a text that goes on begins with a sentence of its own: until a
// letter has come, a number may still belong to the sentence before it.
func beginsSentence(text string) bool {
	at := strings.IndexFunc(text, unicode.IsLetter)
	first, _ := utf8.DecodeRuneInString(text[max(at, 0):])
	return at >= 0 && !unicode.IsLower(first)
}
