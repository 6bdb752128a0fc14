package documents

import (
	"cmp"
	"encoding/csv"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	rstDirective = regexp.MustCompile(`^(\s*)\.\. ([\w:.+-]+?)::\s*(.*)$`)
	rstComment   = regexp.MustCompile(`^\s*\.\.(?:\s|$)`)
	rstFootnote  = regexp.MustCompile(`^\.\. \[([^\]]+)\]\s+(.*)$`)
	rstField     = regexp.MustCompile(`^\s*:([^:\s][^:]*):(?:\s+(.*))?$`)
	rstBorder    = regexp.MustCompile(`^\s*=+(?: +=+)+\s*$`)
	rstGrid      = regexp.MustCompile(`^\s*\+(?:[-=]+\+)+\s*$`)
	rstItem      = regexp.MustCompile(`^(\s*)([-*+•]|\(?(?:\d{1,3}|#|[a-zA-Z])[.)])\s+(.*)$`)
	rstInline    = []replacement{
		{regexp.MustCompile("``([^`]+)``"), "$1"},
		{regexp.MustCompile(":[\\w:+.-]+:`([^`<]*?)\\s*<[^`>]*>`"), "$1"},
		{regexp.MustCompile(":[\\w:+.-]+:`~?([^`]+)`"), "$1"},
		{regexp.MustCompile("`([^`<]*?)\\s*<[^`>]*>`__?"), "$1"},
		{regexp.MustCompile("`([^`]+)`(?:__?)?"), "$1"},
		{regexp.MustCompile(`\*\*([^*]+)\*\*`), "$1"},
		{regexp.MustCompile(`\*([^*\s][^*]*)\*`), "$1"},
		{regexp.MustCompile(`\|([^|\s][^|]*)\|_?`), "$1"},
		{regexp.MustCompile(`\b(\w+)__?(\W|$)`), "$1$2"},
		{regexp.MustCompile(`\\(.)`), "$1"},
	}
)

// readReST writes the blocks of reStructuredText to w: headings, directives, code, lists and tables. The underlines
// of headings get their levels in the order in which they first occur. The title returned is the heading that the
// text begins with, or ""; the error is always nil.
func readReST(w *writer, text string) (string, error) {
	r := &rstReader{
		p: &paragraphWriter{
			w:     w,
			plain: func(s string) string { return replaceAll(s, rstInline) },
			kind:  Paragraph,
		},
	}
	r.lines = strings.Split(text, "\n")
	for r.at < len(r.lines) {
		r.next()
	}
	r.p.flush()
	return firstHeading(w), nil
}

// rstReader holds the lines of a text and the index of the next one.
type rstReader struct {
	p      *paragraphWriter
	lines  []string
	at     int
	styles []string // the underlines of headings, the highest first
}

// next reads the block of reStructuredText that begins at the current line, writes it to r.p, and moves past its lines.
// There must be a current line.
func (r *rstReader) next() {
	line := r.lines[r.at]
	trimmed := strings.TrimSpace(line)
	switch {
	case trimmed == "":
		r.p.flush()
		r.at++
	case r.isHeading():
	case rstBorder.MatchString(line):
		r.simpleTable()
	case rstGrid.MatchString(line):
		r.gridTable()
	case rstDirective.MatchString(line):
		r.directive()
	case rstFootnote.MatchString(line):
		r.p.begin(Note, 0)
		r.p.add(rstFootnote.FindStringSubmatch(line)[2])
		r.at++
		r.p.lines = append(r.p.lines, trimAll(r.indented(0))...)
		r.p.flush()
	case rstComment.MatchString(line):
		r.at++
		r.indented(indentOf(line))
	case len(trimmed) >= 4 && isUnderline(trimmed): // a transition
		r.p.flush()
		r.at++
	case rstItem.MatchString(line):
		item := rstItem.FindStringSubmatch(line)
		r.p.begin(Item, 1+len(item[1])/2)
		mark := item[2]
		if strings.ContainsAny(mark, "0123456789") {
			item[3] = mark + " " + item[3]
		}
		r.p.add(item[3])
		r.at++
	case rstField.MatchString(line) && len(r.p.lines) == 0:
		field := rstField.FindStringSubmatch(line)
		r.p.add(field[1] + ": " + field[2])
		r.at++
		r.p.flush()
	default:
		r.at++
		literal := strings.HasSuffix(trimmed, "::")
		r.p.add(strings.TrimSuffix(trimmed, ":"))
		if !literal {
			r.p.lines[len(r.p.lines)-1] = trimmed
			return
		}
		if trimmed == "::" {
			r.p.lines = r.p.lines[:len(r.p.lines)-1]
		}
		if block := r.indented(indentOf(line)); len(block) > 0 {
			r.p.code(block)
		}
	}
}

// isHeading reports whether a heading begins at the current line. If so, it writes the heading and moves past it.
// If not, it may have moved past a line that looked like an overline.
func (r *rstReader) isHeading() bool {
	line := strings.TrimRight(r.lines[r.at], " ")
	over := len(line) >= 3 && isUnderline(line) && r.at+2 < len(r.lines) &&
		strings.TrimRight(r.lines[r.at+2], " ") == line
	if over {
		r.at++
	} else if isUnderline(line) || len(r.p.lines) > 0 || indentOf(line) > 0 {
		return false
	}
	if r.at+1 >= len(r.lines) {
		return false
	}
	under := strings.TrimRight(r.lines[r.at+1], " ")
	title := strings.TrimSpace(r.lines[r.at])
	short := len(under) < 3 || utf8.RuneCountInString(title) > len(under)+2
	if !over && (short || !isUnderline(under) || rstBorder.MatchString(under)) {
		return false
	}
	style := under[:1]
	if over {
		style += "^"
		r.at++
	}
	level := -1
	for i, s := range r.styles {
		if s == style {
			level = i
		}
	}
	if level < 0 {
		r.styles = append(r.styles, style)
		level = len(r.styles) - 1
	}
	r.at++
	if !over {
		r.at++
	} else {
		r.at++
	}
	r.p.heading(level+1, title)
	return true
}

// isUnderline reports whether a line, without blanks, consists of one ASCII punctuation mark, repeated. A single
// mark counts too.
func isUnderline(line string) bool {
	if line == "" || line[0] >= utf8.RuneSelf || unicode.IsLetter(rune(line[0])) ||
		unicode.IsDigit(rune(line[0])) ||
		line[0] == ' ' {
		return false
	}
	return strings.Trim(line, line[:1]) == ""
}

// indented returns the following lines that are indented deeper than `indent` bytes, with blank ones between but
// not around them, and moves past them; none if the next line is not. The result shares memory with the lines.
func (r *rstReader) indented(indent int) (block []string) {
	from := r.at
	end := r.at
	for ; r.at < len(r.lines); r.at++ {
		if strings.TrimSpace(r.lines[r.at]) == "" {
			continue
		}
		if indentOf(r.lines[r.at]) <= indent {
			break
		}
		end = r.at + 1
	}
	r.at = max(end, from)
	for from < end && strings.TrimSpace(r.lines[from]) == "" {
		from++
	}
	return r.lines[from:end]
}

// directive reads the directive at the current line with its body: code as code, a table as rows, and others, such
// as admonitions, as text after their name. Directives without text of their own, such as image and toctree, are
// dropped.
func (r *rstReader) directive() {
	parts := rstDirective.FindStringSubmatch(r.lines[r.at])
	indent := len(parts[1])
	r.at++
	block := r.indented(indent)
	options := map[string]string{}
	for len(block) > 0 && rstField.MatchString(block[0]) {
		name, value, _ := strings.Cut(strings.TrimLeft(strings.TrimSpace(block[0]), ":"), ":")
		options[strings.ToLower(name)] = strings.TrimSpace(value)
		block = block[1:]
	}
	switch name := strings.ToLower(parts[2]); name {
	case "code", "code-block", "sourcecode", "highlight", "parsed-literal", "literalinclude", "math", "doctest",
		"testcode":
		if name == "math" && parts[3] != "" {
			block = append([]string{parts[3]}, block...)
		}
		if len(block) > 0 {
			r.p.code(block)
		}
	case "toctree", "contents", "include", "image", "index", "raw", "meta", "only", "highlightlang", "currentmodule":
		r.p.flush()
		if name == "only" {
			r.inner(block)
		}
	case "figure", "table", "list-table", "csv-table", "rubric":
		if parts[3] != "" && name != "figure" {
			r.p.begin(Caption, 0)
			r.p.add(parts[3])
		}
		r.p.flush()
		switch name {
		case "list-table":
			r.listTable(block, options)
		case "csv-table":
			r.csvTable(block, options)
		default:
			r.inner(block)
		}
	default:
		r.p.flush()
		label := strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "-", " ")
		switch {
		case strings.Contains(name, ":"),
			strings.HasSuffix(name, "function"),
			strings.HasSuffix(name, "class"): // of a domain, such as py:function
			r.p.w.add(Paragraph, 0, r.p.plain(parts[3]))
		case parts[3] != "" || len(block) > 0:
			r.p.add(label + ": " + parts[3])
			for len(block) > 0 && strings.TrimSpace(block[0]) != "" {
				r.p.add(strings.TrimSpace(block[0]))
				block = block[1:]
			}
			r.p.flush()
		}
		r.inner(block)
	}
}

// inner reads the lines of a directive's body as blocks.
func (r *rstReader) inner(block []string) {
	inside := &rstReader{p: r.p, lines: dedent(block), styles: r.styles}
	for inside.at < len(inside.lines) {
		inside.next()
	}
	r.p.flush()
}

// simpleTable reads the table at the current line whose columns are marked by lines of "=". A row with an empty
// first cell continues the row above; rows above an inner border name the columns.
func (r *rstReader) simpleTable() {
	border := r.lines[r.at]
	var begins []int
	for i := range border {
		if border[i] == '=' && (i == 0 || border[i-1] == ' ') {
			begins = append(begins, i)
		}
	}
	var rows [][]string
	headed, borders := 0, 1
	for r.at++; r.at < len(r.lines); r.at++ {
		line := r.lines[r.at]
		if rstBorder.MatchString(line) {
			borders++
			if r.at+1 >= len(r.lines) || strings.TrimSpace(r.lines[r.at+1]) == "" {
				r.at++
				break
			}
			headed = len(rows)
			continue
		}
		if strings.TrimSpace(line) == "" || isUnderline(strings.ReplaceAll(strings.TrimSpace(line), " ", "")) {
			continue
		}
		cells := make([]string, len(begins))
		runes := []rune(line)
		for i, begin := range begins {
			end := len(runes)
			if i+1 < len(begins) {
				end = min(begins[i+1], end)
			}
			if begin < end {
				cells[i] = strings.TrimSpace(string(runes[begin:end]))
			}
		}
		if cells[0] == "" && len(rows) > 0 {
			for i, cell := range cells {
				rows[len(rows)-1][i] = strings.TrimSpace(rows[len(rows)-1][i] + " " + cell)
			}
			continue
		}
		rows = append(rows, cells)
	}
	r.p.table(rows, headed)
}

// gridTable reads the table at the current line that is drawn with "+", "-" and "|". The lines between two borders
// are one row; rows above a border of "=" name the columns.
func (r *rstReader) gridTable() {
	var rows [][]string
	headed := 0
	fresh := true
	for ; r.at < len(r.lines); r.at++ {
		line := strings.TrimSpace(r.lines[r.at])
		switch {
		case rstGrid.MatchString(line):
			if strings.Contains(line, "=") {
				headed = len(rows)
			}
			fresh = true
			continue
		case strings.HasPrefix(line, "|"):
			cells := pipeRow(line)
			if fresh {
				rows = append(rows, cells)
				fresh = false
				continue
			}
			last := rows[len(rows)-1]
			for i := range min(len(cells), len(last)) {
				last[i] = strings.TrimSpace(last[i] + " " + cells[i])
			}
			continue
		}
		break
	}
	r.p.table(rows, headed)
}

// csvTable writes a table of values with commas, or the delimiter in the options, between them. Its column names
// are in the options or its first rows. A table in another file is named in a warning. What is no such table is
// read as blocks.
func (r *rstReader) csvTable(block []string, options map[string]string) {
	if from := cmp.Or(options["file"], options["url"]); from != "" {
		r.p.w.warn("a table in another file (%s) was left out", from)
	}
	headed := headerRowsOf(options)
	lines := trimAll(block)
	if header := options["header"]; header != "" {
		lines = append([]string{header}, lines...)
		headed++
	}
	reader := csv.NewReader(strings.NewReader(strings.Join(lines, "\n")))
	reader.TrimLeadingSpace = true
	reader.LazyQuotes = true
	reader.FieldsPerRecord = -1
	if delimiter, n := utf8.DecodeRuneInString(options["delim"]); n > 0 && n == len(options["delim"]) {
		reader.Comma = delimiter
	}
	rows, err := reader.ReadAll()
	if err != nil { // the delimiter cannot be one
		r.inner(block)
		return
	}
	r.p.table(rows, headed)
}

// headerRowsOf returns how many rows of a table name its columns, by the options of its directive: at most
// mostHeaderRows, and 0 if they do not say.
func headerRowsOf(options map[string]string) int {
	n, err := strconv.Atoi(options["header-rows"])
	if err != nil || n < 0 {
		return 0
	}
	return min(n, mostHeaderRows)
}

// listTable writes a table that is a list of lists: each item "* - " begins a row, and "- " a further cell of it.
func (r *rstReader) listTable(block []string, options map[string]string) {
	var rows [][]string
	for _, line := range trimAll(block) {
		if line == "* -" || line == "-" { // an empty cell
			line += " "
		}
		if cell, first := strings.CutPrefix(line, "* - "); first {
			rows = append(rows, []string{cell})
		} else if cell, more := strings.CutPrefix(line, "- "); more && len(rows) > 0 {
			rows[len(rows)-1] = append(rows[len(rows)-1], cell)
		} else if line != "" && len(rows) > 0 {
			last := rows[len(rows)-1]
			last[len(last)-1] += " " + line
		}
	}
	r.p.table(rows, headerRowsOf(options))
}

// trimAll returns the lines without white space at both ends.
func trimAll(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimSpace(line)
	}
	return out
}
