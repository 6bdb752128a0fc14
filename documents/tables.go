package documents

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestHeader is the largest length in bytes of a row of column names that passages repeat. Longer ones stand only in
// the first passage of a table.
const longestHeader = 1000

// mostHeaderRows bounds how many rows name the columns of a table.
const mostHeaderRows = 10

// addTable writes the rows of a table to w. The first `headed` rows, at most mostHeaderRows, name the columns; if
// headed is 0, headerRows decides. The names are written once, as one row, and are the Header of all rows below
// unless they are longer than longestHeader.
func addTable(w *writer, rows [][]string, headed int) {
	headed = min(headed, len(rows), mostHeaderRows)
	if headed == 0 {
		headed = headerRows(rows)
	}
	header := addHeader(w, rows[:headed])
	for _, row := range rows[headed:] {
		w.addRow(Row, 0, header, joinCells(row))
	}
}

// addHeader writes the rows of column names as one row to w, and returns the names as the Header for the rows below. It
// returns "" if rows is empty, and writes nothing then, or if the names are longer than longestHeader.
func addHeader(w *writer, rows [][]string) string {
	if len(rows) == 0 {
		return ""
	}
	names := joinCells(columnNames(rows))
	w.addRow(Row, 0, "", names)
	names = clean(names)
	if len(names) <= longestHeader {
		return names
	}
	return ""
}

// columnNames returns one name for each column, from one or more rows of names; "" for a column without. Names in
// several rows are joined from top to bottom: "2024 › Revenue". An upper name counts for the columns to its right
// until the next one. A single row is returned itself.
func columnNames(rows [][]string) []string {
	if len(rows) == 1 {
		return rows[0]
	}
	width := 0
	for _, row := range rows {
		width = max(width, len(row))
	}
	names := make([]string, width)
	lowest := rows[len(rows)-1]
	for i, row := range rows {
		upper := ""
		for column := range width {
			cell := ""
			if column < len(row) {
				cell = clean(row[column])
			}
			switch {
			case cell != "":
				upper = cell
			case i < len(rows)-1 && column < len(lowest) && clean(lowest[column]) != "" && column > 0:
				cell = upper
			}
			if cell == "" || names[column] == cell || strings.HasSuffix(names[column], Below+cell) {
				continue
			}
			if names[column] != "" {
				names[column] += Below
			}
			names[column] += cell
		}
	}
	return names
}

// headerRows returns how many of the first rows of a table without marked names name its columns: 0, 1 or 2. It is 2 if
// the upper row has gaps and the lower one looks like names.
func headerRows(rows [][]string) int {
	if len(rows) >= 3 && hasGaps(rows[0], rows[1]) &&
		!looksLikeData(rows[0], rows[2:]) && !looksLikeData(rows[1], rows[2:]) {
		below := rows[2:min(len(rows), headLooksAt)]
		if looksLikeHeader(append([][]string{columnNames(rows[:2])}, below...)) {
			return 2
		}
	}
	if looksLikeHeader(rows) {
		return 1
	}
	return 0
}

// hasGaps reports whether upper can be a row of column names that span several columns of lower, the row below. Beyond
// the first column, some cells of upper must be empty or equal to the cell before, and others filled, where lower has a
// text. In the first column one of both rows is empty, or both have the same text.
func hasGaps(upper, lower []string) bool {
	if len(upper) == 0 || len(lower) == 0 || upper[0] != "" && lower[0] != "" && upper[0] != lower[0] {
		return false
	}
	filled, gaps := 0, 0
	for i, cell := range lower {
		switch {
		case cell == "", i == 0:
		case i >= len(upper), upper[i] == "", i > 0 && upper[i] == upper[i-1]:
			gaps++
		default:
			filled++
		}
	}
	return filled > 0 && gaps > 0
}

// headLooksAt is how many rows below a row are looked at to find out whether it names the columns.
const headLooksAt = 50

// looksLikeHeader reports whether the first row of a table without marked names names its columns. Most of its cells
// have short, distinct texts, it does not look like the rows below, and one of these holds:
//
//   - in some column, most cells below are numbers or longer texts;
//   - two cells are years or the like;
//   - there are three columns, or a column whose values recur.
func looksLikeHeader(rows [][]string) bool {
	if len(rows) < 2 {
		return false
	}
	head := rows[0]
	below := rows[1:min(len(rows), headLooksAt)]
	seen := map[string]bool{}
	filled, periods := 0, 0
	for _, cell := range head {
		if cell == "" {
			continue
		}
		if seen[cell] || utf8.RuneCountInString(cell) > 60 {
			return false
		}
		seen[cell] = true
		filled++
		if isPeriod(cell) {
			periods++
		}
	}
	if filled < 2 || filled*2 < len(head) || looksLikeData(head, below) {
		return false
	}
	if periods >= 2 {
		return true
	}
	for column, name := range head {
		others, unlike := 0, 0
		for _, row := range below {
			if column >= len(row) || row[column] == "" {
				continue
			}
			others++
			if numeric(row[column]) || len(row[column]) > 2*len(name)+8 {
				unlike++
			}
		}
		if others > 0 && unlike*2 >= others {
			return true
		}
	}
	return len(below) >= 2 && (filled >= 3 && filled == len(head) || valuesRecur(below, len(head)))
}

// valuesRecur reports whether one of the first so many columns has the same text in two rows. Empty cells do not count.
func valuesRecur(rows [][]string, columns int) bool {
	for column := range columns {
		seen := map[string]bool{}
		for _, row := range rows {
			if column < len(row) && row[column] != "" {
				if seen[row[column]] {
					return true
				}
				seen[row[column]] = true
			}
		}
	}
	return false
}

// looksLikeData reports whether a row has values like those below it. In some column its cell occurs again, is a number
// like most cells below, or has digits and the same form as most of them. A year or the like counts only if most cells
// below are years too, since years also name columns.
func looksLikeData(head []string, below [][]string) bool {
	for column, cell := range head {
		if cell == "" {
			continue
		}
		others, alike, equal, numbers := 0, 0, 0, 0
		shape := shapeOf(cell)
		for _, row := range below[:min(len(below), headLooksAt)] {
			if column >= len(row) || row[column] == "" {
				continue
			}
			others++
			if row[column] == cell {
				equal++
			}
			if shapeOf(row[column]) == shape {
				alike++
			}
			if numeric(row[column]) {
				numbers++
			}
		}
		switch {
		case others == 0:
			if numeric(cell) && !isPeriod(cell) {
				return true
			}
		case isPeriod(cell):
			// Under the name 2024 are amounts; a column of years has them in all rows.
			if alike*2 > others && yearsBelow(column, below) {
				return true
			}
		case equal > 0 && len(below) > 1,
			strings.ContainsFunc(cell, unicode.IsDigit) && alike*2 > others,
			numeric(cell) && numbers*2 > others:
			return true
		}
	}
	return false
}

// yearsBelow reports whether more than half of the texts of a column in the first headLooksAt rows are years or other
// periods (isPeriod). Empty cells do not count.
func yearsBelow(column int, rows [][]string) bool {
	others, periods := 0, 0
	for _, row := range rows[:min(len(rows), headLooksAt)] {
		if column < len(row) && row[column] != "" {
			others++
			if isPeriod(row[column]) {
				periods++
			}
		}
	}
	return periods*2 > others
}

// isPeriod reports whether a cell is one or two years or a part of one, from 1700 to 2200: "2024", "2023/24", "FY
// 2024", "Q1 2024".
func isPeriod(cell string) bool {
	digits, years, run := 0, 0, 0
	letters := 0
	for _, r := range cell + " " {
		switch {
		case r >= '0' && r <= '9':
			run = run*10 + int(r-'0')
			digits++
			continue
		case unicode.IsLetter(r):
			letters++
		}
		if run >= 1700 && run <= 2200 {
			years++
		}
		run = 0
		if digits > 8 || letters > 12 {
			return false
		}
	}
	return years > 0 && years <= 2 && !strings.ContainsAny(cell, "$€£¥%,:")
}

// numeric reports whether at least half of a cell's characters are digits, as in numbers and dates; false if it has
// none.
func numeric(cell string) bool {
	digits := 0
	for _, r := range cell {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	return digits*2 >= utf8.RuneCountInString(strings.TrimSpace(cell)) && digits > 0
}

// joinCells returns the cells of a row separated by " | ", without blank ones at the end; "" if all are blank.
func joinCells(cells []string) string {
	last := len(cells)
	for last > 0 && strings.TrimSpace(cells[last-1]) == "" {
		last--
	}
	return strings.Join(cells[:last], " | ")
}
