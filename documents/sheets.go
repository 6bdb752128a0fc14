package documents

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/xuri/excelize/v2"
)

// readXLSX reads the sheets of a workbook as they are shown. Each sheet is a page behind a
// heading with its name; hidden sheets are left out, and named.
func readXLSX(w *writer, data []byte) (title string, warnings []string, err error) {
	// A library that reads what others wrote may panic on it.
	defer func() {
		if v := recover(); v != nil {
			err = unreadable(Damaged, fmt.Errorf("%v", v), "its sheets cannot be read")
		}
	}()
	book, err := excelize.OpenReader(
		bytes.NewReader(data),
		excelize.Options{UnzipSizeLimit: w.limits.UnpackedBytes, UnzipXMLSizeLimit: w.limits.UnpackedBytes},
	)
	if err != nil {
		switch {
		case errors.Is(err, excelize.ErrWorkbookFileFormat):
			return "", nil, unreadable(Damaged, nil, "it is no workbook that can be read")
		case strings.Contains(err.Error(), "unzip size exceeds"):
			return "", nil, unreadable(TooLarge, nil, "it unpacks to more than %d MiB", w.limits.UnpackedBytes>>20)
		}
		return "", nil, unreadable(Damaged, err, "it is no workbook that can be read")
	}
	defer func() { _ = book.Close() }()
	for i, sheet := range book.GetSheetList() {
		if visible, err := book.GetSheetVisible(sheet); err == nil && !visible {
			warnings = append(warnings, fmt.Sprintf("the hidden sheet %q was left out", sheet))
			continue
		}
		w.page = i + 1
		if err := readSheet(w, book, sheet); err != nil {
			return "", nil, err
		}
	}
	if properties, err := book.GetDocProps(); err == nil {
		title = properties.Title
	}
	return title, warnings, nil
}

func readSheet(w *writer, book *excelize.File, sheet string) error {
	rows, err := book.Rows(sheet)
	if err != nil {
		return unreadable(Damaged, err, "its sheet %.80q cannot be read", sheet)
	}
	defer func() { _ = rows.Close() }()
	t := &sheetWriter{w: w, name: sheet}
	for rows.Next() {
		cells, err := rows.Columns()
		if err != nil {
			return unreadable(Damaged, err, "its sheet %.80q cannot be read", sheet)
		}
		t.add(cells)
		if w.err != nil {
			return w.err
		}
	}
	t.close()
	if err := rows.Error(); err != nil {
		return unreadable(Damaged, err, "its sheet %.80q cannot be read", sheet)
	}
	return nil
}

// sheetWriter adds the rows of one table after the other: an empty row ends a table. It
// keeps the first rows of each until it knows whether they name the columns.
type sheetWriter struct {
	w      *writer
	name   string
	first  [][]string
	header string
	begun  bool
}

// looksAt is how many rows tell whether the first one names the columns.
const looksAt = 20

func (t *sheetWriter) add(cells []string) {
	if joinCells(cells) == "" {
		t.close()
		return
	}
	if !t.begun {
		t.first = append(t.first, cells)
		if len(t.first) == looksAt {
			t.begin()
		}
		return
	}
	t.w.addRow(Row, 0, t.header, joinCells(cells))
}

func (t *sheetWriter) begin() {
	if t.name != "" {
		t.w.add(Heading, 1, t.name)
		t.name = ""
	}
	headed := 0
	if looksLikeHeader(t.first) {
		t.header = joinCells(t.first[0])
		headed = 1
	}
	addTable(t.w, t.first, headed)
	t.first, t.begun = nil, true
}

func (t *sheetWriter) close() {
	if len(t.first) > 0 {
		t.begin()
	}
	t.begun, t.header = false, ""
}

// readCSV reads a table of values, whatever parts them.
func readCSV(w *writer, data []byte, contentType string) error {
	text, err := w.decode(data, charsetOf(contentType))
	if err != nil {
		return err
	}
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = separator(text)
	r.FieldsPerRecord = -1
	r.LazyQuotes = true
	t := &sheetWriter{w: w}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return unreadable(Damaged, err, "it is no table of values that can be read")
		}
		t.add(cells)
		if w.err != nil {
			return w.err
		}
	}
	t.close()
	return nil
}

// separator returns the character that parts the first lines of a table into the same number
// of cells, and into the most.
func separator(text string) rune {
	best, most := ',', 0
	for _, c := range []rune{',', ';', '\t', '|'} {
		r := csv.NewReader(strings.NewReader(text))
		r.Comma = c
		r.FieldsPerRecord = -1
		r.LazyQuotes = true
		fewest := 0
		for i := range looksAt {
			cells, err := r.Read()
			if err != nil {
				break
			}
			if i == 0 || len(cells) < fewest {
				fewest = len(cells)
			}
		}
		if fewest > most {
			best, most = c, fewest
		}
	}
	return best
}
