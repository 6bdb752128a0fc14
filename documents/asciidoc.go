package documents

import (
	"regexp"
	"strings"
)

var (
	adocHeading   = regexp.MustCompile(`^(={1,6}|#{1,6})\s+(\S.*)$`)
	adocAttribute = regexp.MustCompile(`^:!?[\w-]+!?:(?:\s.*)?$`)
	adocBlock     = regexp.MustCompile(`^(?:-{4,}|\.{4,}|\+{4,}|={4,}|\*{4,}|_{4,}|/{4,}|` + "```" + `\w*)$`)
	adocList      = regexp.MustCompile(`^\s*(\*{1,5}|-|\.{1,5}|\d{1,3}\.)\s+(\S.*)$`)
	adocTerm      = regexp.MustCompile(`^\s*(\S.*?)(:{2,4}|;;)(?:\s+(.*))?$`)
	adocMacro     = regexp.MustCompile(`^(?:image|video|audio|include|toc|ifdef|ifndef|endif|ifeval)::`)
	adocInline    = []replacement{
		{regexp.MustCompile(`\[\[[^\]]*\]\]`), ""},
		{regexp.MustCompile(`<<[^,>]*,\s*([^>]*)>>`), "$1"},
		{regexp.MustCompile(`<<([^>]*)>>`), "$1"},
		{regexp.MustCompile(`(?:link|xref|mailto|kbd|btn|menu|footnote|stem|latexmath):\S*?\[([^\]]+)\]`), "$1"},
		{regexp.MustCompile(`(https?://\S+?)\[([^\]]+)\]`), "$2"},
		{regexp.MustCompile(`image:\S*?\[([^\]]*)\]`), "$1"},
		{regexp.MustCompile(`\*\*([^*]+)\*\*|__([^_]+)__`), "$1$2"},
		{regexp.MustCompile(`(^|\W)\*([^*\s](?:[^*]*[^*\s])?)\*`), "$1$2"},
		{regexp.MustCompile(`(^|\W)_([^_\s](?:[^_]*[^_\s])?)_(\W|$)`), "$1$2$3"},
		{regexp.MustCompile("`\\+?([^`]+?)\\+?`"), "$1"},
		{regexp.MustCompile(`\^([^^\s]+)\^`), "^$1"},
		{regexp.MustCompile(`~([^~\s]+)~`), "$1"},
	}
)

// readAsciiDoc writes the blocks of an AsciiDoc text to w: headings, lists, code, tables and admonitions. It skips
// attributes, comments and included files. The title returned is the text of the first heading, or ""; the error is
// always nil.
func readAsciiDoc(w *writer, text string) (string, error) {
	p := &paragraphWriter{w: w, plain: func(s string) string { return replaceAll(s, adocInline) }, kind: Paragraph}
	lines := strings.Split(text, "\n")
	headed := false // the next table's first row names its columns
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \t")
		switch {
		case line == "" || line == "+" || line == "'''" || line == "<<<":
			p.flush()
		case adocAttribute.MatchString(line) || strings.HasPrefix(line, "//") && !adocBlock.MatchString(line) ||
			adocMacro.MatchString(line):
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			headed = strings.Contains(line, "header")
		case strings.HasPrefix(line, "|==="), strings.HasPrefix(line, ",==="):
			i = adocTable(p, lines, i, headed)
			headed = false
		case adocBlock.MatchString(line):
			end := i + 1
			for end < len(lines) && strings.TrimRight(lines[end], " \t") != closing(line) {
				end++
			}
			switch line[0] {
			case '-', '.', '+', '`':
				p.code(lines[i+1 : min(end, len(lines))])
				i = end
			case '/':
				i = end
			default: // an example, a sidebar or a quote has blocks of its own
				p.flush()
			}
		case adocHeading.MatchString(line) && len(p.lines) == 0:
			h := adocHeading.FindStringSubmatch(line)
			p.heading(len(h[1]), h[2])
		case strings.HasPrefix(line, ".") && len(line) > 1 && line[1] != '.' && line[1] != ' ':
			p.begin(Caption, 0)
			p.add(line[1:])
			p.flush()
		case adocList.MatchString(line):
			item := adocList.FindStringSubmatch(line)
			p.begin(Item, max(1, len(strings.TrimRight(item[1], "0123456789"))))
			if strings.ContainsAny(item[1], "0123456789") {
				item[2] = item[1] + " " + item[2]
			}
			p.add(item[2])
		case adocTerm.MatchString(line) && len(p.lines) == 0:
			term := adocTerm.FindStringSubmatch(line)
			p.begin(Item, 1)
			p.add(term[1] + ": " + term[3])
		case strings.HasPrefix(line, " ") && len(p.lines) == 0:
			from := i
			for i+1 < len(lines) && strings.TrimSpace(lines[i+1]) != "" {
				i++
			}
			p.code(lines[from : i+1])
		default:
			p.add(strings.TrimSuffix(line, " +"))
		}
	}
	p.flush()
	return firstHeading(w), nil
}

// closing returns the line that ends a delimited block, given the line that begins it: "```" for a fence with or
// without a language, else the same line.
func closing(line string) string {
	if strings.HasPrefix(line, "```") {
		return "```"
	}
	return line
}

// adocTable writes the table whose opening delimiter is lines[at] to p, and returns the index of its closing
// delimiter, or len(lines) if that is missing. The first line of cells tells the number of columns. It is a row of
// column names if headed is true or a blank line follows.
func adocTable(p *paragraphWriter, lines []string, at int, headed bool) int {
	var cells []string
	columns := 0
	header := headed
	end := at + 1
	for ; end < len(lines) && strings.TrimSpace(lines[end]) != strings.TrimSpace(lines[at]); end++ {
		line := strings.TrimSpace(lines[end])
		if line == "" {
			if columns == 0 && len(cells) > 0 {
				columns = len(cells)
				header = true
			}
			continue
		}
		parts := strings.Split(line, "|")
		if parts[0] != "" && !adocSpan.MatchString(parts[0]) && len(cells) > 0 {
			cells[len(cells)-1] += " " + parts[0]
		}
		for _, part := range parts[1:] {
			cells = append(cells, strings.TrimSpace(adocSpanEnd.ReplaceAllString(part, "")))
		}
		if columns == 0 && end+1 < len(lines) && len(parts) > 2 && strings.TrimSpace(lines[end+1]) != "" {
			columns = len(cells)
		}
	}
	if columns == 0 {
		columns = max(1, len(cells))
	}
	var rows [][]string
	for len(cells) > 0 {
		n := min(columns, len(cells))
		rows = append(rows, cells[:n:n])
		cells = cells[n:]
	}
	if header {
		p.table(rows, 1)
	} else {
		p.table(rows, 0)
	}
	return end
}

// What stands before the bar of a cell: that it spans others, or how it is aligned.
var (
	adocSpan    = regexp.MustCompile(`^[\d.+*<>^]*[a-z]?$`)
	adocSpanEnd = regexp.MustCompile(`\s[\d.+*<>^]+[a-z]?$`)
)
