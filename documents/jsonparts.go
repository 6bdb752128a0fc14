package documents

import (
	"bytes"
	"unicode/utf8"
)

// jsonList divides a list in JSON into shorter lists of its elements.
type jsonList struct {
	rest         []byte // from the next element on
	most         int    // bytes of a list, unless an element is longer
	mostElements int
}

// newJSONList returns the list that a JSON text consists of, to be read in shorter lists of at most `most` bytes
// and mostElements elements (at least 1 each). It shares memory with the text. It is nil if the text is not one
// list in UTF-8; the elements are not checked.
func newJSONList(text []byte, most, mostElements int) *jsonList {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xEF\xBB\xBF")))
	if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' || !utf8.Valid(text) {
		return nil
	}
	l := jsonList{rest: text[1:]}
	end := 0 // of the elements before it
	for end < len(l.rest) && l.rest[end] != ']' {
		end += l.element(l.rest[end:])
		if end < len(l.rest) && l.rest[end] == ',' {
			end++
		}
	}
	if end != len(l.rest)-1 {
		return nil // lists on lines of their own
	}
	return &jsonList{rest: text[1 : len(text)-1], most: max(1, most), mostElements: max(1, mostElements)}
}

// next returns the next elements as a list in JSON of its own, at least one element even if it is longer than most;
// nil at the end.
func (l *jsonList) next() []byte {
	end, count := 0, 0
	for end < len(l.rest) && count < l.mostElements {
		n := l.element(l.rest[end:])
		if count > 0 && end+n+1 > l.most {
			break
		}
		end = min(end+n+1, len(l.rest)) // with the comma
		count++
	}
	elements := bytes.TrimRight(l.rest[:end], ", \t\r\n")
	l.rest = l.rest[end:]
	if len(elements) == 0 {
		return nil
	}
	part := make([]byte, 0, len(elements)+2)
	part = append(part, '[')
	part = append(part, elements...)
	return append(part, ']')
}

// element returns the length in bytes of the first element of a list, at the beginning of text: up to the comma or
// closing bracket that follows it, or the length of text if neither follows.
func (l *jsonList) element(text []byte) int {
	depth := 0
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth == 0 {
				return i
			}
			depth--
		case c == ',' && depth == 0:
			return i
		}
	}
	return len(text)
}
