package documents

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// readText writes plain text to w and returns the heading that it begins with as the title, or "". Blank lines
// separate paragraphs. A line is a heading if the next line underlines it, or if it stands alone, is short, and is
// numbered like a section or in capitals (headingLevel). Lines with indents or columns keep their white space.
// Bytes that are no text are an *UnreadableError.
func readText(w *writer, data []byte, contentType string) (string, error) {
	text, err := w.decode(data, charsetOf(contentType))
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

// paragraphs returns the runs of lines between blank ones, in order; nil if all lines are blank.
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

// addParagraph writes the lines between two blank lines: a heading, code, list items or paragraphs. A line that is
// underlined is a heading, and the lines after it are written in the same way.
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
	if !slices.ContainsFunc(lines, bullet.MatchString) && !wrapped(lines) {
		addLines(w, lines)
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

// headingLevel returns the level of lines that are a heading; 0 if they are none. A heading is a single short line that
// does not end a sentence: one in capitals has level 1, one that is numbered like a section the level of its number.
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

// arranged reports whether the white space inside lines has a meaning, as in columns or indented code.
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

// wrappedAt is the largest length in characters of a line that a program has wrapped. A file with longer lines has a
// line for each paragraph.
const wrappedAt = 120

// wrapped reports whether the lines, of which none is blank, are one paragraph that a program has wrapped: none is
// longer than wrappedAt, hardly any had room for the first word of the next, and they do not begin alike. A single
// line is wrapped unless it is too long. Other lines were ended on purpose: chats, logs, verses, addresses, code.
func wrapped(lines []string) bool {
	width := 0
	begins := map[string]int{}
	for _, line := range lines {
		width = max(width, utf8.RuneCountInString(line))
		begins[shapeOf(strings.Fields(line)[0])]++
	}
	if width > wrappedAt {
		return false
	}
	for shape, n := range begins {
		if shape != "a" && n > 1 && n*2 > len(lines) {
			return false
		}
	}
	short := 0
	for i, line := range lines[:len(lines)-1] {
		next := strings.Fields(lines[i+1])[0]
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(next) <= width {
			short++
		}
	}
	return short*5 <= len(lines)-1
}

// shapeOf returns a word with "a" for each run of letters and "0" for each run of digits.
func shapeOf(word string) string {
	var b strings.Builder
	last := rune(0)
	for _, r := range word {
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r):
			r = 'a'
		case unicode.IsDigit(r):
			r = '0'
		}
		if r != last || r != 'a' && r != '0' {
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}

// addLines writes lines that were ended on purpose: as one block of code, or, if a line is longer than wrappedAt, each
// line as a paragraph.
func addLines(w *writer, lines []string) {
	long := func(line string) bool { return utf8.RuneCountInString(line) > wrappedAt }
	if !slices.ContainsFunc(lines, long) {
		w.add(Code, 0, strings.Join(lines, "\n"))
		return
	}
	for _, line := range lines {
		w.add(Paragraph, 0, line)
	}
}

// joinLines returns several lines as one, trimmed and with spaces between. A word that is hyphenated at the end of
// a line is joined (joinHyphenated).
func joinLines(lines []string) string {
	var b []byte
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if drop, joined := joinHyphenated(b, line); joined {
			b = b[:len(b)-drop]
		} else if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, line...)
	}
	return string(b)
}
