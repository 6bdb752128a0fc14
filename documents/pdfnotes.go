package documents

import (
	"regexp"
	"slices"
	"strings"
)

// noteBegin and noteEnd stand around a raised number of a PDF that may be the mark of a footnote, until all pages are
// known (settleNotes). They are no characters of Unicode.
const (
	noteBegin = '\ufdd0'
	noteEnd   = '\ufdd1'
)

var (
	// raisedNumber matches a raised number that may be the mark of a footnote, and the letter or bracket before it.
	raisedNumber = regexp.MustCompile(`([\p{L})]?)` + string(noteBegin) + `(.*?)` + string(noteEnd))
	// raisedOne matches a raised 1 that was read as an exponent, as in "the^1".
	raisedOne = regexp.MustCompile(`\^1(?:\D|$)`)
	// firstNumber matches the number that a line begins with.
	firstNumber = regexp.MustCompile(`^\d+`)
)

// smallNote is the height of the letters of a footnote at most, as a share of those of the main text.
const smallNote = 0.95

// settleNotes decides which raised numbers of a PDF's lines are marks of footnotes, "council[2]", and which are powers,
// "metres^2". Footnotes are counted from 1. So a 2 or 3 directly behind a word is a power if the whole document has
//
//  1. no raised 1, none but 2 and 3 behind words, and none behind punctuation, and
//  2. no line in small letters that begins with 1, 2 or 3, as a footnote does.
func settleNotes(pages []pdfPage) {
	body := bodySize(pages)
	isPower := func(number string) bool { return number == "2" || number == "3" }
	counted := false // the document has footnotes
	for _, page := range pages {
		for _, line := range page.Lines {
			for _, match := range raisedNumber.FindAllStringSubmatch(line.Text, -1) {
				counted = counted || match[1] == "" || !isPower(match[2])
			}
			number := firstNumber.FindString(line.Text)
			isNote := line.Size < smallNote*body && (number == "1" || isPower(number))
			counted = counted || isNote || raisedOne.MatchString(line.Text)
		}
	}
	settle := func(text string) string {
		if !strings.ContainsRune(text, noteBegin) {
			return text
		}
		return raisedNumber.ReplaceAllStringFunc(text, func(found string) string {
			match := raisedNumber.FindStringSubmatch(found)
			before, number := match[1], match[2]
			if before != "" && isPower(number) && !counted {
				return before + "^" + number
			}
			return before + "[" + number + "]"
		})
	}
	for _, page := range pages {
		for i := range page.Lines {
			line := &page.Lines[i]
			if !strings.ContainsRune(line.Text, noteBegin) {
				continue
			}
			line.Text = settle(line.Text)
			line.Words = slices.Clone(line.Words)
			for k := range line.Words {
				line.Words[k].Text = settle(line.Words[k].Text)
			}
		}
	}
}
