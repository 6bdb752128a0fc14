package documents

import "strings"

// raisedLine is a line of text that is being read. It writes superscripts as exponents ("10^3") and subscripts as
// indexes, as writeRaised and writeLowered do.
type raisedLine struct {
	text   strings.Builder
	raised strings.Builder // superscript or subscript letters that are not in text yet
	by     vertical        // what the letters in raised are
}

// vertical says where letters stand: on the line, above or below it.
type vertical uint8

const (
	onLine vertical = iota
	superscript
	subscript
)

// write appends text that is raised, lowered or on the line. Raised and lowered text is collected until other text
// follows.
func (l *raisedLine) write(text string, at vertical) {
	if l.raised.Len() > 0 && at != l.by {
		l.end(text)
	}
	if at != onLine {
		l.by = at
		l.raised.WriteString(text)
		return
	}
	l.text.WriteString(text)
}

// end appends the collected superscript or subscript, if any, to the text. next is what follows: a slash makes a
// superscript the upper part of a fraction.
func (l *raisedLine) end(next string) {
	if l.raised.Len() == 0 {
		return
	}
	before, raised := l.text.String(), l.raised.String()
	switch {
	case l.by == subscript:
		raised = writeLowered(before, raised)
	case strings.HasPrefix(next, "/") || strings.HasPrefix(next, "⁄"): // the upper part of a fraction
		raised = " " + raised
	default:
		raised = writeRaised(before, raised)
	}
	l.text.WriteString(raised)
	l.raised.Reset()
}

// writeFormula appends a formula that is on one line, after a space if digits would touch: one and a half.
func (l *raisedLine) writeFormula(formula string) {
	l.end("")
	l.text.WriteString(spaceBetweenDigits(l.text.String(), formula))
}

// empty reports whether nothing was written since the last call of take.
func (l *raisedLine) empty() bool { return l.text.Len() == 0 && l.raised.Len() == 0 }

// take returns the collected line and empties l.
func (l *raisedLine) take() string {
	l.end("")
	text := l.text.String()
	l.text.Reset()
	return text
}
