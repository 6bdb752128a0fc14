package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"example.org/conclave/internal/plaintext"
	"example.org/conclave/internal/wording"
)

// Remark is what was done with rows of a table that a reader of the file may not expect.
type Remark string

// The remarks.
const (
	// Joined: a quoted field goes on over the lines of the row.
	Joined Remark = "joined"
	// Literal: a quote begins a field and does not end it as CSV has it, so it was read
	// as a character.
	Literal Remark = "literal"
	// HeaderAgain: the row is the header once more, and was left out.
	HeaderAgain Remark = "header"
)

// table reads the rows of a table. Rows of DPR's and MS MARCO's formats are lines.
type table struct {
	lines   lookahead
	most    int // bytes of a row
	format  Format
	comma   byte
	want    Columns
	columns columns
	first   string // the header's line
	ready   bool   // the header was read
	remark  func(what Remark, first, last int)
}

// newTable returns a reader of the passages in a table. comma separates the fields; 0 lets readHeader find it. want
// names columns.
func newTable(lines *lineReader, format Format, comma byte, want Columns) *table {
	t := &table{lines: lookahead{in: lines}, most: lines.most, format: format, comma: comma, want: want}
	if format == MSMARCO {
		t.columns = columns{names: []string{"id", "text"}, id: 0, text: 1, title: -1, tags: -1}
		t.ready = true
	}
	return t
}

// nextPassage returns the next passage, unchecked and without the prefix of ids, and the line on which it begins;
// io.EOF after the last one. It skips blank lines and repeated headers. A row that cannot be read is a *FieldError
// and is skipped.
func (t *table) nextPassage() (p Passage, line int, err error) {
	if !t.ready {
		line, err = t.readHeader()
		if err != nil {
			return p, line, err
		}
	}
	for {
		row := t.lines.peekAt(0)
		switch {
		case row.err != nil:
			t.lines.skipLines(1)
			return p, row.number, row.err
		case len(bytes.TrimSpace(row.text)) == 0:
			t.lines.skipLines(1)
			continue
		case t.first != "" && string(row.text) == t.first:
			t.lines.skipLines(1)
			t.addRemark(HeaderAgain, row.number, row.number)
			continue
		case t.cutHeader(row):
			continue
		}
		fields, err := t.nextRow()
		if err != nil {
			return p, row.number, err
		}
		p, err = t.columns.passageOf(fields)
		return p, row.number, err
	}
}

// addRemark calls remark, if it is set, about the lines first to last.
func (t *table) addRemark(what Remark, first, last int) {
	if t.remark != nil {
		t.remark(what, first, last)
	}
}

// readHeader reads the first line and finds the columns in it. It returns that line's number, and an error if a needed
// column is missing.
func (t *table) readHeader() (line int, err error) {
	first := t.lines.peekAt(0)
	t.lines.skipLines(1)
	if first.err != nil {
		return first.number, first.err
	}
	if t.comma == 0 { // not told from the content
		t.comma = '\t'
		if t.format == CSV {
			t.comma = ','
			if names := splitHeader(first.text, ';'); len(names) > len(splitHeader(first.text, ',')) {
				t.comma = ';'
			}
		}
	}
	t.first = string(first.text)
	t.ready = true
	t.columns, err = findColumns(splitHeader(first.text, t.comma), t.want)
	if err == nil && t.format == DPRTSV && !t.columns.onlyDPR() {
		err = &FieldError{
			Value:   wording.Quote(t.first),
			Problem: "has other columns than DPR's: id, text and title between tabs",
		}
	}
	t.ready = err == nil
	return first.number, err
}

// cutHeader reports whether a line, the next one, ends in a byte order mark and the header: a file was appended to
// one without an end of line. It then takes these off the line.
func (t *table) cutHeader(row peekedLine) bool {
	if t.first == "" {
		return false
	}
	before, found := bytes.CutSuffix(row.text, []byte(plaintext.Mark+t.first))
	if found {
		t.lines.replaceNext(before)
	}
	return found
}

// nextRow takes the next row and returns its fields, as many as the header has. In CSV and TSV a row may have several
// lines. It returns a *FieldError, and skips the row, if the number of fields is another.
func (t *table) nextRow() ([]string, error) {
	n := len(t.columns.names)
	line := t.lines.peekAt(0)
	literal := strings.Split(string(line.text), string(rune(t.comma)))
	if t.format == DPRTSV || t.format == MSMARCO {
		t.lines.skipLines(1)
		return t.lineRow(literal, line)
	}
	fields, used, loose := t.quotedRow()
	// In a TSV, lone quotes are likelier than tabs and line ends inside a quoted field.
	lone := used > 1 && t.comma == '\t' && t.areWholeRows(used, n)
	switch {
	case len(fields) == n && !lone:
		if used > 1 {
			t.addRemark(Joined, line.number, line.number+used-1)
		}
		if loose != "" {
			t.addRemark(Literal, line.number, line.number+used-1)
		}
		t.lines.skipLines(used)
		return fields, nil
	case t.areWholeRows(used, n):
		t.addRemark(Literal, line.number, line.number)
		t.lines.skipLines(1)
		return eachUnquoted(literal), nil
	}
	t.lines.skipLines(used)
	problem := fmt.Sprintf("has %s, the header has %d", fieldsOf(len(fields)), n)
	switch {
	case loose != "":
		problem += ", and " + loose
	case used > 1:
		problem = fmt.Sprintf("goes on to line %d and ", line.number+used-1) + problem
	}
	return nil, &FieldError{Value: wording.Quote(string(line.text)), Problem: problem}
}

// areWholeRows reports whether each of the next lines is a row of n fields by itself. What looks like a quoted field
// across these lines is then two lone quotes.
func (t *table) areWholeRows(lines, n int) bool {
	for i := range lines {
		if bytes.Count(t.lines.peekAt(i).text, []byte{t.comma}) != n-1 {
			return false
		}
	}
	return true
}

// lineRow returns the fields of a row in DPR's or MS MARCO's format, in which a row is one line. Fields of DPR may be
// quoted as CSV quotes; in MS MARCO quotes are ordinary characters, and the text may contain tabs. It returns a
// *FieldError if there are too few or too many fields.
func (t *table) lineRow(literal []string, line peekedLine) ([]string, error) {
	n := len(t.columns.names)
	if t.format == DPRTSV && len(literal) == n {
		return eachUnquoted(literal), nil
	}
	if t.format == MSMARCO && len(literal) > n { // a tab inside the text
		return strings.SplitN(string(line.text), "\t", n), nil
	}
	if fields, ok := splitQuoted(line.text, t.comma); ok && len(fields) == n {
		return fields, nil // with a tab inside
	}
	problem := fmt.Sprintf("has %s, the header has %d", fieldsOf(len(literal)), n)
	if t.format == MSMARCO {
		problem = fmt.Sprintf("has %s, MS MARCO's format has %d: id and text between tabs", fieldsOf(len(literal)), n)
	} else if bytes.Contains(line.text, []byte(`"`)) {
		problem += " (rows of DPR's format do not go on over lines; quoted fields of the format tsv do)"
	}
	return nil, &FieldError{Value: wording.Quote(string(line.text)), Problem: problem}
}

// fieldsOf returns "1 field", "2 fields" and so on.
func fieldsOf(n int) string {
	if n == 1 {
		return "1 field"
	}
	return fmt.Sprintf("%d fields", n)
}

// peekedLine is a line that was read ahead.
type peekedLine struct {
	text   []byte
	number int
	err    error
}

// lookahead reads lines ahead of those that are taken.
type lookahead struct {
	in   *lineReader
	kept []peekedLine
	head int // of kept, the next line
}

// peekAt returns the line i lines after the next one, without taking it; its text is a copy. Beyond the last line
// it returns a line whose err is io.EOF. A line that cannot be read has another err.
func (l *lookahead) peekAt(i int) peekedLine {
	for len(l.kept) <= l.head+i {
		if n := len(l.kept); n > l.head && errors.Is(l.kept[n-1].err, io.EOF) {
			return l.kept[n-1]
		}
		text, err := l.in.nextLine()
		l.kept = append(l.kept, peekedLine{bytes.Clone(text), l.in.number, err})
	}
	return l.kept[l.head+i]
}

// skipLines takes the next n lines, which must have been peeked at.
func (l *lookahead) skipLines(n int) {
	l.head += n
	if 2*l.head >= len(l.kept) {
		l.kept = append(l.kept[:0], l.kept[l.head:]...)
		l.head = 0
	}
}

// replaceNext replaces the text of the next line, which must have been peeked at.
func (l *lookahead) replaceNext(text []byte) { l.kept[l.head].text = text }
