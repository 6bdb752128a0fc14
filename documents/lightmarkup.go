package documents

import (
	"regexp"
	"strings"
)

// paragraphWriter collects the lines of a paragraph or list item, and writes it as a block without the format's markup.
type paragraphWriter struct {
	w     *writer
	plain func(string) string // removes the markup inside a line
	lines []string
	kind  Kind
	level int
}

// add adds a line to the block that is being read.
func (p *paragraphWriter) add(line string) { p.lines = append(p.lines, line) }

// begin writes the collected lines and starts a block of another kind.
func (p *paragraphWriter) begin(kind Kind, level int) {
	p.flush()
	p.kind, p.level = kind, level
}

// flush writes the collected lines, joined and without markup, as a block; it writes none if there are no lines.
// Lines that follow are a paragraph.
func (p *paragraphWriter) flush() {
	if len(p.lines) > 0 {
		p.w.add(p.kind, p.level, p.plain(joinLines(p.lines)))
	}
	p.lines = p.lines[:0]
	p.kind, p.level = Paragraph, 0
}

// heading writes the collected lines and then a heading; a level outside of 1 to 6 is replaced by the nearest of these.
func (p *paragraphWriter) heading(level int, text string) {
	p.flush()
	p.w.add(Heading, min(max(level, 1), 6), p.plain(text))
}

// code writes the collected lines and then a block of code, without the indent that all its lines share.
func (p *paragraphWriter) code(lines []string) {
	p.flush()
	p.w.add(Code, 0, strings.Join(dedent(lines), "\n"))
}

// table writes the collected lines and then a table, whose first `headed` rows name the columns. It changes rows.
func (p *paragraphWriter) table(rows [][]string, headed int) {
	p.flush()
	for _, row := range rows {
		for i, cell := range row {
			row[i] = clean(p.plain(cell))
		}
	}
	if len(rows) > 0 {
		addTable(p.w, rows, headed)
	}
}

// dedent returns copies of lines without the indent that all of them share; blank lines do not count for it.
func dedent(lines []string) []string {
	least := -1
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if n := indentOf(line); least < 0 || n < least {
			least = n
		}
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = line[min(max(least, 0), len(line)):]
	}
	return out
}

// indentOf returns the length of a line's indent in bytes.
func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// pipeRow returns the cells of a table row written with bars: "bolt", "1.20" for "| bolt | 1.20 |". Bars at both
// ends and blanks around cells are dropped.
func pipeRow(line string) []string {
	line = strings.Trim(strings.TrimSpace(line), "|")
	cells := strings.Split(line, "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// replacement is a pattern and what takes its place.
type replacement struct {
	pattern *regexp.Regexp
	with    string
}

// replaceAll returns the text after applying the replacements one after the other.
func replaceAll(text string, all []replacement) string {
	for _, r := range all {
		text = r.pattern.ReplaceAllString(text, r.with)
	}
	return text
}
