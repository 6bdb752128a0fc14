package documents

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// besideCells counts the comments, pictures and texts of drawings in a workbook, which are not read. The counts are
// zero if the workbook cannot be opened, and end at the first part that cannot be unpacked.
func besideCells(data []byte, limits Limits) *leftOut {
	left := &leftOut{}
	p, err := openParts(data, limits)
	if err != nil {
		return left
	}
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		comments := strings.HasPrefix(name, "xl/comments")
		if !comments && !strings.HasPrefix(name, "xl/drawings/drawing") {
			continue
		}
		part, err := p.read(name)
		if err != nil {
			return left
		}
		text, err := textOfPart(part, "p")
		switch {
		case err != nil: // what is not read cannot damage the rest
		case comments:
			left.addComments(bytes.Count(part, []byte("<comment ")), text)
		default:
			left.pictures += bytes.Count(part, []byte("</xdr:pic>"))
			left.addDrawing(text)
		}
	}
	return left
}

// cellPlace matches the reference of a cell, such as B12, in its XML tag.
var cellPlace = regexp.MustCompile(`\sr="([A-Z]{1,3}[0-9]{1,7})"`)

// unvaluedFormulas returns how many cells of a workbook have a formula but no stored result, and the reference of the
// first; 0 and "" if there are none or the workbook cannot be opened. Such cells are read as empty; programs that write
// a workbook without calculating it leave them.
func unvaluedFormulas(data []byte, limits Limits) (count int, first string) {
	p, err := openParts(data, limits)
	if err != nil {
		return 0, ""
	}
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		if !strings.HasPrefix(name, "xl/worksheets/") || !strings.HasSuffix(name, ".xml") {
			continue
		}
		sheet, err := p.read(name)
		if err != nil {
			continue // the reader says so
		}
		for cell := range bytes.SplitSeq(sheet, []byte("<c ")) {
			cell, _, _ = bytes.Cut(cell, []byte("</c>"))
			formula := bytes.Contains(cell, []byte("<f>")) || bytes.Contains(cell, []byte("<f "))
			if !formula || bytes.Contains(cell, []byte("<v>")) && !bytes.Contains(cell, []byte("<v></v>")) ||
				bytes.Contains(cell, []byte("<is>")) {
				continue
			}
			count++
			if m := cellPlace.FindSubmatch(append([]byte(" "), cell[:min(len(cell), 200)]...)); m != nil &&
				first == "" {
				first = string(m[1])
			}
		}
	}
	return count, first
}
