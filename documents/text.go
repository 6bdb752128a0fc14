package documents

import (
	"regexp"
	"strings"
)

// readText reads plain text: paragraphs between blank lines. A line alone between blank
// lines that is underlined, numbered like a section, or short and without a full stop
// is a heading; lines of an indented or tabulated block keep their white space.
func readText(w *writer, data []byte, contentType string) (string, error) {
	text, err := decode(data, charsetOf(contentType))
	if err != nil {
		return "", err
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	for page := range strings.SplitSeq(text, "\f") { // form feeds part the pages of text from PDF
		for _, lines := range paragraphs(page) {
			addParagraph(w, lines)
		}
	}
	return firstHeading(w), nil
}

// paragraphs returns the runs of lines between blank ones.
func paragraphs(text string) (all [][]string) {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == "" {
			if lines != nil {
				all = append(all, lines)
			}
			lines = nil
			continue
		}
		lines = append(lines, line)
	}
	if lines != nil {
		all = append(all, lines)
	}
	return all
}

var (
	underline = regexp.MustCompile(`^\s*(={3,}|-{3,}|~{3,}|\*{3,})\s*$`)
	numbered  = regexp.MustCompile(`^\s*(\d{1,3}(?:\.\d{1,3}){0,4})\.?\s+\p{L}`)
	bullet    = regexp.MustCompile(`^\s*([-*•‣◦–]|\(?[0-9]{1,3}[.)]|\(?[a-z][.)])\s+\S`)
)

func addParagraph(w *writer, lines []string) {
	if len(lines) >= 2 && underline.MatchString(lines[1]) {
		level := 1
		if !strings.Contains(lines[1], "=") {
			level = 2
		}
		w.add(Heading, level, lines[0])
		lines = lines[2:]
		if len(lines) == 0 {
			return
		}
	}
	if len(lines) == 1 && underline.MatchString(lines[0]) {
		return
	}
	if level := headingLevel(lines); level > 0 {
		w.add(Heading, level, lines[0])
		return
	}
	if arranged(lines) {
		w.add(Code, 0, strings.Join(lines, "\n"))
		return
	}
	if !bullet.MatchString(lines[0]) {
		lead := 0
		for lead < len(lines) && !bullet.MatchString(lines[lead]) {
			lead++
		}
		w.add(Paragraph, 0, joinLines(lines[:lead]))
		lines = lines[lead:]
	}
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && !bullet.MatchString(lines[to]) {
			to++
		}
		w.add(Item, 1, joinLines(lines[from:to]))
		from = to
	}
}

// headingLevel returns the level of a paragraph that is a heading; 0 if it is none.
func headingLevel(lines []string) int {
	if len(lines) != 1 {
		return 0
	}
	line := strings.TrimSpace(lines[0])
	if len(line) > 80 || strings.ContainsAny(line[len(line)-1:], ".,;:!") || len(strings.Fields(line)) > 10 {
		return 0
	}
	if at := numbered.FindStringSubmatch(line); at != nil {
		return 1 + strings.Count(at[1], ".")
	}
	if bullet.MatchString(line) {
		return 0
	}
	if strings.ToUpper(line) == line && strings.ToLower(line) != line {
		return 1
	}
	return 0
}

// arranged reports whether white space inside lines means something: columns or indented code.
func arranged(lines []string) bool {
	if len(lines) < 2 {
		return false
	}
	spaced := 0
	for _, line := range lines {
		trimmed := strings.TrimLeft(line, " \t")
		if strings.Contains(trimmed, "   ") || strings.Contains(trimmed, "\t") || len(line)-len(trimmed) >= 4 {
			spaced++
		}
	}
	return spaced*2 > len(lines)
}

// joinLines makes one line of several; a word that was hyphenated at a line's end is whole
// again where the next line goes on with a small letter.
func joinLines(lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if i == 0 {
			b.WriteString(line)
			continue
		}
		text := b.String()
		if joined, ok := unhyphenate(text, line); ok {
			b.Reset()
			b.WriteString(joined)
			continue
		}
		b.WriteByte(' ')
		b.WriteString(line)
	}
	return b.String()
}
