package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// columns says where the fields of a table stand; -1 is absent.
type columns struct{ id, text, title, n int }

// parseHeader reads the header line. Columns are found by name, since files
// made after DPR's often have title before text.
func parseHeader(line []byte) (columns, error) {
	c := columns{id: -1, text: -1, title: -1}
	names := strings.Split(strings.TrimRight(string(bytes.TrimPrefix(line, byteOrderMark)), "\r\n"), "\t")
	for i, name := range names {
		var slot *int
		switch strings.Trim(strings.TrimSpace(name), `"`) {
		case "id":
			slot = &c.id
		case "text":
			slot = &c.text
		case "title":
			slot = &c.title
		default:
			return c, &FieldError{Value: excerpt(string(line)), Problem: fmt.Sprintf("is not a header: column %d should be id, text or title (DPR's header is id, text, title between tabs)", i+1)}
		}
		if *slot >= 0 {
			return c, &FieldError{Value: excerpt(string(line)), Problem: fmt.Sprintf("names column %q twice", name)}
		}
		*slot = i
	}
	c.n = len(names)
	if c.id < 0 || c.text < 0 {
		return c, &FieldError{Value: excerpt(string(line)), Problem: "is not a header: the columns id and text are needed (DPR's header is id, text, title between tabs)"}
	}
	return c, nil
}

// tsvDecoder reads records as Python's csv module does with a tab as delimiter
// and " as quote: a field that begins with " ends at the next lone ", two of
// them stand for one, and tabs and line ends inside are part of the field.
type tsvDecoder struct {
	lines   *lineReader
	columns columns
	header  bool
	fields  []string
	field   []byte
}

// next returns the next passage without prefix and the line it begins on.
func (d *tsvDecoder) next() (p Passage, line int, err error) {
	if !d.header {
		first, err := d.lines.next()
		if err != nil {
			return p, d.lines.number, err
		}
		if d.columns, err = parseHeader(first); err != nil {
			return p, d.lines.number, err
		}
		d.header = true
	}
	for {
		row, err := d.lines.next()
		if err != nil {
			return p, d.lines.number, err
		}
		if len(bytes.TrimSpace(row)) == 0 {
			continue
		}
		line = d.lines.number
		if err := d.split(row); err != nil {
			return p, line, err
		}
		if len(d.fields) != d.columns.n {
			return p, line, &FieldError{Value: excerpt(string(row)), Problem: fmt.Sprintf("has %d fields, the header has %d", len(d.fields), d.columns.n)}
		}
		p.ID, p.Text = d.fields[d.columns.id], d.fields[d.columns.text]
		if d.columns.title >= 0 {
			p.Title = d.fields[d.columns.title]
		}
		return p, line, nil
	}
}

// split cuts a row into d.fields, taking further lines where a quoted field
// goes on.
func (d *tsvDecoder) split(row []byte) error {
	d.fields = d.fields[:0]
	total, opened := len(row), d.lines.number
	for {
		d.field = d.field[:0]
		if len(row) == 0 || row[0] != '"' {
			field, rest, more := bytes.Cut(row, []byte("\t"))
			d.fields = append(d.fields, string(field))
			if !more {
				return nil
			}
			row = rest
			continue
		}
		row = row[1:]
		for {
			at := bytes.IndexByte(row, '"')
			if at >= 0 && at+1 < len(row) && row[at+1] == '"' {
				d.field = append(d.field, row[:at+1]...)
				row = row[at+2:]
				continue
			}
			if at >= 0 {
				d.field = append(d.field, row[:at]...)
				row = row[at+1:]
				break
			}
			d.field = append(append(d.field, row...), '\n')
			next, err := d.lines.next()
			switch {
			case errors.Is(err, io.EOF):
				return &FieldError{Value: excerpt(string(d.field)), Problem: fmt.Sprintf("opens a quote on line %d that is never closed", opened)}
			case err != nil:
				return err
			}
			row = next
			if total += len(next) + 1; total > d.lines.most {
				return &FieldError{Value: excerpt(string(d.field)), Problem: fmt.Sprintf("opens a quote on line %d that is not closed within %d bytes", opened, d.lines.most)}
			}
		}
		d.fields = append(d.fields, string(d.field))
		if len(row) == 0 {
			return nil
		}
		if row[0] != '\t' {
			return &FieldError{Value: excerpt(string(row)), Problem: "stands behind a closing quote, where a tab or the end of the line should be (a quote inside a quoted field is written twice)"}
		}
		row = row[1:]
	}
}
