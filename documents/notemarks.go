package documents

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// noteBegin and noteEnd stand around a raised number that may be the mark of a footnote, until the whole document is
// known (settleNotes, writer.settleNotes). They are no characters of Unicode.
const (
	noteBegin = '\ufdd0'
	noteEnd   = '\ufdd1'
)

var (
	// raisedNumber matches a raised number that may be the mark or the number of a footnote, and the character before it.
	raisedNumber = regexp.MustCompile(`(?s)(^|.)` + string(noteBegin) + `(.*?)` + string(noteEnd))
	// raisedOne matches a raised 1 that was read as an exponent, as in "the^1".
	raisedOne = regexp.MustCompile(`\^1(?:\D|$)`)
	// noteNumber matches the number that a footnote begins with, as in "2 Audited", "[2] Audited" and "2Audited".
	noteNumber = regexp.MustCompile(`^[\[(]?(\d{1,3})(?:[\])]?[.):]?\s|\p{L})`)
	// undecided writes all raised numbers between noteBegin and noteEnd as marks.
	undecided = strings.NewReplacer(string(noteBegin), "[", string(noteEnd), "]")
)

// smallNote is the height of the letters of a footnote at most, as a share of those of the main text.
const smallNote = 0.95

// raisedKind says what a raised number can be.
type raisedKind uint8

const (
	beginsNote  raisedKind = iota + 1 // at the beginning of a text or word, as where a footnote begins
	onlyMark                          // the mark of a footnote
	markOrPower                       // 2 or 3 behind a letter or bracket, as in square metres and cubic metres
)

// kindOfRaised returns what a raised number in a line can be, from the character before it and the number in a match of
// raisedNumber: the beginning of a note after white space or at the beginning of the line; a mark or a power for 2 or 3
// after a letter or a closing bracket; otherwise only the mark of a note.
func kindOfRaised(match []string) raisedKind {
	before, _ := utf8.DecodeRuneInString(match[1])
	switch {
	case match[1] == "" || unicode.IsSpace(before):
		return beginsNote
	case (match[2] == "2" || match[2] == "3") && (unicode.IsLetter(before) || before == ')'):
		return markOrPower
	}
	return onlyMark
}

// settleRaised returns a text whose raised numbers are written as powers, "metres^2", where isPower says so, at the
// beginning of words as they are, and else as marks of footnotes, "council[2]". isPower is asked for numbers of the
// kind markOrPower only. A text without noteBegin is returned as it is.
func settleRaised(text string, isPower func(number string) bool) string {
	if !strings.ContainsRune(text, noteBegin) {
		return text
	}
	return undecided.Replace(raisedNumber.ReplaceAllStringFunc(text, func(found string) string {
		match := raisedNumber.FindStringSubmatch(found)
		switch kind := kindOfRaised(match); {
		case kind == beginsNote:
			return match[1] + match[2]
		case kind == markOrPower && isPower(match[2]):
			return match[1] + "^" + match[2]
		}
		return match[1] + "[" + match[2] + "]"
	}))
}

// settleNotes decides which raised numbers of the blocks are marks of footnotes and which are powers, and rewrites
// the texts, headers and warnings of the document; Begin and End of the blocks move. One that can be a power is one
// if no footnote with its number was found, and either some other raised number has a footnote or none counts
// footnotes. A footnote begins with a raised number, or is a paragraph, note or caption that begins with a number,
// a row of one cell that does, or an item of a list at the end of the document. Numbers that count footnotes are
// those that cannot be powers.
func (w *writer) settleNotes() {
	if !strings.ContainsRune(w.text.String(), noteBegin) {
		return
	}
	text := w.text.String()
	numbers := map[string]bool{}
	notes := map[string]bool{}
	counted := false
	for _, b := range w.blocks {
		for _, match := range raisedNumber.FindAllStringSubmatch(text[b.Begin:b.End], -1) {
			switch kindOfRaised(match) {
			case beginsNote:
				notes[match[2]] = true
			case onlyMark:
				counted = true
				numbers[match[2]] = true
			case markOrPower:
				numbers[match[2]] = true
			}
		}
	}
	maps.DeleteFunc(notes, func(number string, _ bool) bool { return !numbers[number] })
	atEnd := true
	for _, b := range slices.Backward(w.blocks) {
		inBlock := text[b.Begin:b.End]
		atEnd = atEnd && b.Kind == Item
		switch {
		case b.Kind == Heading, b.Kind == Code, b.Kind == Item && !atEnd, b.Kind == Row && strings.Contains(inBlock, "|"):
			continue
		}
		if match := noteNumber.FindStringSubmatch(inBlock); match != nil && numbers[match[1]] {
			notes[match[1]] = true
		}
	}
	isPower := func(number string) bool { return !notes[number] && (!counted || len(notes) > 0) }
	w.text.Reset()
	end := 0
	for i := range w.blocks {
		b := &w.blocks[i]
		w.text.WriteString(text[end:b.Begin])
		begin := w.text.Len()
		w.text.WriteString(settleRaised(text[b.Begin:b.End], isPower))
		end = b.End
		b.Begin = begin
		b.End = w.text.Len()
		b.Header = settleRaised(b.Header, isPower)
	}
	for i := range w.warnings {
		w.warnings[i] = settleRaised(w.warnings[i], isPower)
	}
}

// notePlace is a number of a footnote on a page of a PDF.
type notePlace struct {
	page   int
	number string
}

// footnoteEvidence is what the lines of a PDF say of its footnotes.
type footnoteEvidence struct {
	counted bool               // it has footnotes
	notes   map[notePlace]bool // lines in small letters that begin with the number
	marks   map[notePlace]bool // raised numbers that cannot be powers, but marks of footnotes
	atFeet  bool               // nine tenths of the marks have a note on their page
}

// findFootnotes returns the evidence for footnotes in the lines of a PDF: the places of numbers that can only be marks,
// those of lines in small print that begin with a number, whether there is a mark or a note 1 to 3 (counted), and
// whether at least nine tenths of the marks have a note on their page (atFeet).
func findFootnotes(pages []pdfPage) footnoteEvidence {
	e := footnoteEvidence{notes: map[notePlace]bool{}, marks: map[notePlace]bool{}}
	body := bodySize(pages)
	for i, page := range pages {
		for _, line := range page.Lines {
			if strings.ContainsRune(line.Text, noteBegin) {
				for _, match := range raisedNumber.FindAllStringSubmatch(line.Text, -1) {
					if kindOfRaised(match) == onlyMark {
						e.marks[notePlace{i, match[2]}] = true
					}
				}
			}
			if strings.Contains(line.Text, "^1") && raisedOne.MatchString(line.Text) {
				e.marks[notePlace{i, "1"}] = true
			}
			text := strings.TrimPrefix(line.Text, string(noteBegin))
			if number := text[:runOf(text, isDigit)]; number != "" && line.Size < smallNote*body {
				e.notes[notePlace{i, number}] = true
				e.counted = e.counted || number == "1" || number == "2" || number == "3"
			}
		}
	}
	found := 0
	for mark := range e.marks {
		if e.notes[mark] {
			found++
		}
	}
	e.counted = e.counted || len(e.marks) > 0
	e.atFeet = len(e.marks) > 0 && found*10 >= len(e.marks)*9
	return e
}

// isPower reports whether a raised number on a page, counted from 0, which can be a power, is one: the PDF has no
// footnotes; or they are at the feet of pages, and the page has none with this number, or another mark of it.
func (e *footnoteEvidence) isPower(page int, number string) bool {
	at := notePlace{page, number}
	return !e.counted || e.atFeet && (!e.notes[at] || e.marks[at])
}

// settleNotes decides which raised numbers of a PDF's lines are marks of footnotes, "council[2]", and which are
// powers, "metres^2" (footnoteEvidence.isPower), and rewrites the texts of the lines and, in copies, of their
// words.
func settleNotes(pages []pdfPage) {
	evidence := findFootnotes(pages)
	for p, page := range pages {
		isPower := func(number string) bool { return evidence.isPower(p, number) }
		for i := range page.Lines {
			line := &page.Lines[i]
			if !strings.ContainsRune(line.Text, noteBegin) {
				continue
			}
			line.Text = settleRaised(line.Text, isPower)
			line.Words = slices.Clone(line.Words)
			for k := range line.Words {
				line.Words[k].Text = settleRaised(line.Words[k].Text, isPower)
			}
		}
	}
}
