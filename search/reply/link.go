package reply

import (
	"fmt"
	"strings"
	"unicode"

	"example.org/conclave/internal/corpus"
)

// isWebAddress reports whether a source is an address that a browser opens.
func isWebAddress(source string) bool {
	return strings.HasPrefix(source, "https://") || strings.HasPrefix(source, "http://")
}

// linkOf returns the address of the page that a passage is from, if it is from the web, such that a browser shows the
// passage: with its first and last words as a text fragment, or with the page of a PDF. It is "" for other documents.
func linkOf(p *corpus.Passage, source string, page int) string {
	if !isWebAddress(source) {
		return ""
	}
	switch mediaType, _ := p.Metadata[corpus.MediaTypeKey].(string); mediaType {
	case "text/html", "text/plain":
		fragment := textFragment(corpus.OwnText(p))
		switch {
		case fragment == "":
			return source
		case strings.Contains(source, "#"):
			return source + ":~:text=" + fragment
		}
		return source + "#:~:text=" + fragment
	case "application/pdf":
		if page > 0 && !strings.Contains(source, "#") {
			return fmt.Sprintf("%s#page=%d", source, page)
		}
	}
	return source
}

// fragmentWords is how many words of the beginning and of the end of a passage a text fragment has at most.
const fragmentWords = 6

// textFragment returns the directive with which browsers find a text on a page: its first words, or the whole of a
// short text, and its last ones. Both are taken from within one line, since a line of a passage is a paragraph or an
// item of the page. Rows of tables, which the page has in cells, are passed over. It is "" if no line has words.
func textFragment(text string) string {
	var lines [][]string
	for line := range strings.Lines(text) {
		if words := wordsOfLine(line); len(words) > 0 {
			lines = append(lines, words)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	first, last := lines[0], lines[len(lines)-1]
	if len(lines) == 1 && len(first) <= 2*fragmentWords {
		return escapeFragment(first)
	}
	begin := escapeFragment(first[:min(len(first), fragmentWords)])
	return begin + "," + escapeFragment(last[max(0, len(last)-fragmentWords):])
}

// wordsOfLine returns the words of a line, without the mark of an item before them; nil for a row of a table and for a
// line without letters.
func wordsOfLine(line string) []string {
	if strings.Contains(line, " | ") || !strings.ContainsFunc(line, unicode.IsLetter) {
		return nil
	}
	words := strings.Fields(line)
	if len(words) > 1 && !strings.ContainsFunc(words[0], unicode.IsLetter) {
		words = words[1:]
	}
	return words
}

// escapeFragment returns words as they stand in a text fragment, where commas, ampersands and hyphens have a meaning of
// their own.
func escapeFragment(words []string) string {
	var out strings.Builder
	for _, c := range []byte(strings.Join(words, " ")) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '~' {
			out.WriteByte(c)
		} else {
			_, _ = fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}
