package documents

import (
	"strings"
	"unicode"
)

// looksLikeHeader reports whether the first row of a table names its columns: all of its
// cells have short texts without numbers, no two are equal, and below it, in some
// column, are numbers or longer texts.
func looksLikeHeader(rows [][]string) bool {
	if len(rows) < 2 {
		return false
	}
	head := rows[0]
	seen := map[string]bool{}
	filled := 0
	for _, cell := range head {
		if cell == "" {
			continue
		}
		if seen[cell] || len(cell) > 60 || numeric(cell) {
			return false
		}
		seen[cell] = true
		filled++
	}
	if filled < 2 || filled*2 < len(head) {
		return false
	}
	for column, name := range head {
		others, unlike := 0, 0
		for _, row := range rows[1:min(len(rows), 50)] {
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
	return false
}

// numeric reports whether a cell holds a number, a date or the like.
func numeric(cell string) bool {
	digits := 0
	for _, r := range cell {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	return digits*2 >= len([]rune(strings.TrimSpace(cell))) && digits > 0
}
