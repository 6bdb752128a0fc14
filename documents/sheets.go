package documents

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"
)

// readXLSX writes the sheets of a workbook to w, with values as Excel shows them. Each sheet is a page that begins
// with a heading with its name. title is that of the file's properties, or "". warnings name hidden sheets, which
// are left out, and formulas without a value. The error is an *UnreadableError if the workbook is damaged or beyond
// the limits.
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
	if n, first := unvaluedFormulas(data, w.limits); n > 0 {
		warnings = append(warnings, fmt.Sprintf(
			"%d formulas have no value in the file (the first is in %s): open and save it with a program for spreadsheets",
			n, first,
		))
	}
	besideCells(data, w.limits).name(w)
	if properties, err := book.GetDocProps(); err == nil {
		title = properties.Title
	}
	return title, warnings, nil
}

// readSheet writes the tables of one sheet. The error is an *UnreadableError if the sheet is damaged or beyond a limit.
func readSheet(w *writer, book *excelize.File, sheet string) error {
	rows, err := book.Rows(sheet)
	if err != nil {
		return unreadable(Damaged, err, "its sheet %.80q cannot be read", sheet)
	}
	defer func() { _ = rows.Close() }()
	t := &sheetWriter{w: w, name: sheet}
	row := 0
	for rows.Next() {
		cells, err := rows.Columns()
		if err != nil {
			return unreadable(Damaged, err, "its sheet %.80q cannot be read", sheet)
		}
		w.cells += len(cells)
		if w.cells > mostCells {
			return unreadable(
				TooLarge, nil, "its sheets have more than %d cells, with the empty ones before others", mostCells,
			)
		}
		row++
		for i, cell := range cells {
			if shortened.MatchString(cell) {
				cells[i] = wholeNumber(book, sheet, i+1, row, cell)
			}
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

// shortened matches a number as Excel shows one with too many digits for a cell without a format.
var shortened = regexp.MustCompile(`^-?\d(?:\.\d+)?E[+-]?\d+$`)

// wholeNumber returns all digits of a number in a cell without a number format, such as an article's number. For
// all other cells, such as those whose format is scientific, and for numbers of 1e15 or more it returns shown, the
// text that Excel shows. column and row are from 1.
func wholeNumber(book *excelize.File, sheet string, column, row int, shown string) string {
	cell, err := excelize.CoordinatesToCellName(column, row)
	if err != nil {
		return shown
	}
	at, err := book.GetCellStyle(sheet, cell)
	if err != nil {
		return shown
	}
	style, err := book.GetStyle(at)
	if err != nil || style.NumFmt != 0 || style.CustomNumFmt != nil {
		return shown
	}
	raw, err := book.GetCellValue(sheet, cell, excelize.Options{RawCellValue: true})
	if err != nil {
		return shown
	}
	whole, err := strconv.ParseFloat(raw, 64)
	const exact = 1e15 // beyond, Excel itself keeps no more digits
	if err != nil || math.Abs(whole) >= exact {
		return shown
	}
	return strconv.FormatFloat(whole, 'f', -1, 64)
}

// mostCells bounds the cells of a workbook. Empty cells before a value count, too: up to 16,384 in a row.
const mostCells = 20_000_000

// sheetWriter writes the rows of tables on a sheet; an empty row ends a table. It keeps the first looksAt rows of a
// table to find out whether they name the columns.
type sheetWriter struct {
	w      *writer
	name   string
	named  bool // the first row names the columns unless it looks like data
	first  [][]string
	header string
	begun  bool
}

// looksAt is how many rows of a table are kept to find out whether the first ones name the columns.
const looksAt = 20

// add adds a row of the sheet. An empty row ends the table.
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

// begin writes the first rows of a table, which add has kept to find out which of them name the columns. First rows
// with a single cell, above rows with more, are its caption. The sheet's name becomes a heading before its first table.
func (t *sheetWriter) begin() {
	if t.name != "" {
		t.w.add(Heading, 1, t.name)
		t.name = ""
	}
	rows := t.first
	t.first, t.begun = nil, true
	for len(rows) > 2 && filledCells(rows[0]) == 1 && filledCells(rows[1]) >= 1 && filledCells(rows[len(rows)-1]) >= 2 {
		t.w.add(Caption, 0, joinCells(filledOf(rows[0])))
		rows = rows[1:]
	}
	headed := headerRows(rows)
	if headed == 0 && t.named && len(rows) > 1 && filledCells(rows[0]) >= 2 && !looksLikeData(rows[0], rows[1:]) {
		headed = 1
	}
	t.header = addHeader(t.w, rows[:headed])
	for _, row := range rows[headed:] {
		t.w.addRow(Row, 0, t.header, joinCells(row))
	}
}

// filledCells returns how many cells of a row are not blank.
func filledCells(cells []string) int { return len(filledOf(cells)) }

// filledOf returns the cells of a row that are not blank.
func filledOf(cells []string) (filled []string) {
	for _, cell := range cells {
		if strings.TrimSpace(cell) != "" {
			filled = append(filled, cell)
		}
	}
	return filled
}

// close writes the rows of the current table that wait until its header is known, and ends it. A row that is added
// later begins another table.
func (t *sheetWriter) close() {
	if len(t.first) > 0 {
		t.begin()
	}
	t.begun, t.header = false, ""
}

// readCSV writes a table of values to w that are separated by commas, semicolons, tabs or bars, or as a first line
// "sep=" says. The error is an *UnreadableError if the bytes are no text, the table is malformed or a limit is
// exceeded; the rows before it are written.
func readCSV(w *writer, data []byte, contentType string) error {
	text, err := w.decode(data, charsetOf(contentType))
	if err != nil {
		return err
	}
	comma, text := separator(text)
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = comma
	r.FieldsPerRecord = -1
	r.LazyQuotes = true
	t := &sheetWriter{w: w, named: true}
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

// separator returns the character that separates the values of a table, and the table. A first line "sep=;", which
// Excel writes, names it and is cut off. Else it is the comma, semicolon, tab or bar that splits the first rows into
// the most cells (median).
func separator(text string) (comma rune, table string) {
	if firstLine, rest, _ := strings.Cut(text, "\n"); len(firstLine) < 20 {
		firstLine = strings.Trim(strings.TrimRight(firstLine, "\r"), `"`)
		if c, found := strings.CutPrefix(strings.ToLower(firstLine), "sep="); found {
			r, size := utf8.DecodeRuneInString(c)
			if size == len(c) && size > 0 && !strings.ContainsRune("\"\r\ufffd", r) {
				return r, rest
			}
		}
	}
	best, most, mostOfAll := ',', 0, 0
	for _, c := range []rune{',', ';', '\t', '|'} {
		r := csv.NewReader(strings.NewReader(text))
		r.Comma = c
		r.FieldsPerRecord = -1
		r.LazyQuotes = true
		var counts []int
		all := 0
		for range looksAt {
			cells, err := r.Read()
			if err != nil {
				break
			}
			counts = append(counts, len(cells))
			all += len(cells)
		}
		slices.Sort(counts)
		n := len(counts)
		if n > 0 &&
			(counts[n/2] > most || counts[n/2] == most && all > mostOfAll) { // some lines may be a title, or notes
			best = c
			most = counts[n/2]
			mostOfAll = all
		}
	}
	return best, text
}
