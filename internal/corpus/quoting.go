package corpus

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// lineCost is the memory of a line that is read ahead, beside its text.
const lineCost = 64

// quotedRow returns the fields of the next row as Python's csv module reads it: a field that begins with " ends at the
// next lone "; "" inside stands for one ", and separators and newlines inside belong to the field. A quote that is not
// closed so is an ordinary character, the field ends on its line, and loose says why. used is how many lines the row
// has; they are not taken from t.lines.
//
// The time is linear in the file's length, since a closing quote is looked for only up to the next field that begins
// with a quote.
func (t *table) quotedRow() (fields []string, used int, loose string) {
	rest := t.lines.peekAt(0).text
	used = 1
	for {
		if len(rest) > 0 && rest[0] == '"' {
			field, behind, lines, problem := t.quotedField(rest[1:], used)
			if problem == "" {
				fields = append(fields, field)
				used += lines
				if len(behind) == 0 {
					return fields, used, loose
				}
				rest = behind[1:] // the comma
				continue
			}
			if loose == "" {
				loose = problem
			}
		}
		field, behind, more := bytes.Cut(rest, []byte{t.comma})
		fields = append(fields, string(field))
		if !more {
			return fields, used, loose
		}
		rest = behind
	}
}

// quotedField returns the text of a quoted field that begins on the row's line number used and whose opening quote is
// before rest. behind is the rest of the field's last line (a comma and more, or nothing), and lines the number of
// further lines that the field takes. problem says why the field is malformed; "" if it is not.
func (t *table) quotedField(rest []byte, used int) (text string, behind []byte, lines int, problem string) {
	opened := t.lines.peekAt(used - 1).number
	var field []byte
	for total := 0; ; {
		part, behind, closed := untilQuote(rest)
		field = append(field, part...)
		if closed {
			if len(behind) > 0 && behind[0] != t.comma {
				return "", nil, 0, fmt.Sprintf(
					"has a quoted field, and more behind its closing quote on line %d (a quote inside a quoted field is written twice)",
					opened+lines,
				)
			}
			return string(field), behind, lines, ""
		}
		next := t.lines.peekAt(used + lines)
		total += len(next.text) + lineCost
		if next.err != nil || total > t.most {
			return "", nil, 0, fmt.Sprintf("opens a quote on line %d that is never closed", opened)
		}
		field = append(field, '\n')
		rest = next.text
		lines++
	}
}

// untilQuote returns the text up to the closing quote of a quoted field, in which "" is ", and what follows that quote.
// closed is false if the line has none: the field then goes on on the next line.
func untilQuote(line []byte) (inside, behind []byte, closed bool) {
	for {
		at := bytes.IndexByte(line, '"')
		switch {
		case at < 0:
			return append(inside, line...), nil, false
		case at+1 < len(line) && line[at+1] == '"':
			inside = append(inside, line[:at+1]...)
			line = line[at+2:]
		default:
			return append(inside, line[:at]...), line[at+1:], true
		}
	}
}

// splitQuoted returns the fields of a single line as quotedRow reads them; ok is false if a quote is not closed.
func splitQuoted(line []byte, comma byte) (fields []string, ok bool) {
	t := table{comma: comma, lines: lookahead{kept: []peekedLine{{text: line}, {err: io.EOF}}}}
	fields, _, loose := t.quotedRow()
	return fields, loose == ""
}

// unquoteField returns a field without the quotes of CSV around it. A field that is not quoted, or not correctly, is
// returned as it is.
func unquoteField(field string) string {
	if len(field) < 2 || field[0] != '"' || field[len(field)-1] != '"' {
		return field
	}
	inside := field[1 : len(field)-1]
	if strings.Contains(strings.ReplaceAll(inside, `""`, ""), `"`) {
		return field
	}
	return strings.ReplaceAll(inside, `""`, `"`)
}

// eachUnquoted applies unquoteField to each field, in place, and returns fields.
func eachUnquoted(fields []string) []string {
	for i, field := range fields {
		fields[i] = unquoteField(field)
	}
	return fields
}
