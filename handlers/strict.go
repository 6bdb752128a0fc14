package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds how deep JSON may be nested. The deepest request is a batch
// of searches with lists: 4.
const maxDepth = 16

// maxValues bounds how many values a JSON text may have, keys not counted. A
// body of a megabyte that is made of nothing but values would take longer to
// look at than a search.
const maxValues = 1 << 15

// parseJSON reads one JSON text into map[string]any, []any, string,
// json.Number, bool and nil. It refuses what encoding/json repairs in silence
// and what would change a question's meaning: invalid UTF-8 and lone halves of
// surrogate pairs (both become U+FFFD there), a key written twice (the last
// one wins there), text after the end. What it costs is linear in the text.
func parseJSON(data []byte) (any, *Problem) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, newProblem("not_json", "The body is empty; it has to be a JSON object.")
	}
	if i := invalidUTF8(data); i >= 0 {
		return nil, newProblem("invalid_utf8", fmt.Sprintf("The body has to be UTF-8; the byte 0x%02X at offset %d begins no character.", data[i], i))
	}
	if !json.Valid(data) {
		return nil, notJSON(data)
	}
	if i := loneSurrogate(data); i >= 0 {
		return nil, newProblem("invalid_utf8", fmt.Sprintf("The escape %s at offset %d is half of a surrogate pair and no character.", data[i:i+6], i))
	}
	return (&jsonParser{text: data}).value(nil, 0)
}

// notJSON says where a text is not JSON.
func notJSON(data []byte) *Problem {
	var syntax *json.SyntaxError
	var whole json.RawMessage
	err := json.Unmarshal(data, &whole)
	if errors.As(err, &syntax) {
		return newProblem("not_json", fmt.Sprintf("The body has to be one JSON text: %s at offset %d.", syntax, syntax.Offset))
	}
	return newProblem("not_json", "The body has to be one JSON text.").because(err)
}

// jsonParser reads a text that is known to be valid, so that it looks at the
// first byte of each value alone to know what it is.
type jsonParser struct {
	text   []byte
	at     int
	values int
}

// step is where a value is: a key or a place in a list, below another one. The
// pointer is put together for an error only: keys may be as long as the text.
type step struct {
	up  *step
	key string
}

func (s *step) pointer() string {
	if s == nil {
		return ""
	}
	return s.up.pointer() + "/" + escapePointer(shorten(s.key))
}

// peek is the next byte that is no space.
func (p *jsonParser) peek() byte {
	for p.text[p.at] == ' ' || p.text[p.at] == '\n' || p.text[p.at] == '\t' || p.text[p.at] == '\r' {
		p.at++
	}
	return p.text[p.at]
}

func (p *jsonParser) value(place *step, depth int) (any, *Problem) {
	if p.values++; p.values > maxValues {
		return nil, newProblem("too_many_values", fmt.Sprintf("JSON may have %d values.", maxValues))
	}
	first := p.peek()
	if depth == maxDepth && (first == '{' || first == '[') {
		return nil, newProblem("too_deep", fmt.Sprintf("JSON may be nested %d deep.", maxDepth))
	}
	switch first {
	case '{':
		return p.object(place, depth)
	case '[':
		return p.list(place, depth)
	case '"':
		return p.string(), nil
	case 't':
		p.at += len("true")
		return true, nil
	case 'f':
		p.at += len("false")
		return false, nil
	case 'n':
		p.at += len("null")
		return nil, nil
	}
	begin := p.at
	for p.at < len(p.text) && strings.IndexByte("+-.0123456789eE", p.text[p.at]) >= 0 {
		p.at++
	}
	return json.Number(p.text[begin:p.at]), nil
}

// separated goes to the next item behind a comma, and reports false behind the
// end. It is called behind the opening and behind each item.
func (p *jsonParser) separated() bool {
	switch c := p.peek(); c {
	case '}', ']':
		p.at++
		return false
	case ',':
		p.at++
	}
	return true
}

func (p *jsonParser) list(place *step, depth int) (any, *Problem) {
	p.at++
	list := []any{}
	here := &step{up: place}
	for p.separated() {
		here.key = strconv.Itoa(len(list))
		item, problem := p.value(here, depth+1)
		if problem != nil {
			return nil, problem
		}
		list = append(list, item)
	}
	return list, nil
}

func (p *jsonParser) object(place *step, depth int) (any, *Problem) {
	p.at++
	object := map[string]any{}
	here := &step{up: place}
	for p.separated() {
		p.peek()
		here.key = p.string()
		p.peek()
		p.at++ // the colon
		if _, twice := object[here.key]; twice {
			return nil, newProblem("duplicate_key", fmt.Sprintf("The key %s is written twice; which of them is meant is not clear.", quoted(here.key)),
				ProblemField{Pointer: shorten(here.pointer()), Detail: "written twice"})
		}
		value, problem := p.value(here, depth+1)
		if problem != nil {
			return nil, problem
		}
		object[here.key] = value
	}
	return object, nil
}

// string reads a string. Each escape stands for one character: halves of
// surrogate pairs come in pairs here.
func (p *jsonParser) string() string {
	p.at++
	begin := p.at
	for p.text[p.at] != '"' && p.text[p.at] != '\\' {
		p.at++
	}
	if p.text[p.at] == '"' {
		p.at++
		return string(p.text[begin : p.at-1])
	}
	text := append([]byte(nil), p.text[begin:p.at]...)
	for {
		c := p.text[p.at]
		p.at++
		switch c {
		case '"':
			return string(text)
		case '\\':
			text = p.escape(text)
		default:
			text = append(text, c)
		}
	}
}

// escape reads what follows a backslash.
func (p *jsonParser) escape(text []byte) []byte {
	c := p.text[p.at]
	p.at++
	switch c {
	case 'b':
		return append(text, '\b')
	case 'f':
		return append(text, '\f')
	case 'n':
		return append(text, '\n')
	case 'r':
		return append(text, '\r')
	case 't':
		return append(text, '\t')
	case 'u':
		r := p.unit()
		if utf16.IsSurrogate(r) {
			p.at += len(`\u`)
			r = utf16.DecodeRune(r, p.unit())
		}
		return utf8.AppendRune(text, r)
	}
	return append(text, c) // a quote, a slash or a backslash
}

// unit reads four hexadecimal digits.
func (p *jsonParser) unit() rune {
	n, _ := strconv.ParseUint(string(p.text[p.at:p.at+4]), 16, 16)
	p.at += 4
	return rune(n)
}

// invalidUTF8 is the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		if data[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// loneSurrogate is the offset of the first \uD800…\uDFFF in valid JSON that is
// not part of a pair, or -1.
func loneSurrogate(data []byte) int {
	half := func(i int) (rune, bool) {
		if i+6 > len(data) || data[i] != '\\' || data[i+1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(string(data[i+2:i+6]), 16, 32)
		return rune(n), err == nil && n >= 0xD800 && n <= 0xDFFF
	}
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		first, is := half(i)
		if !is {
			i++ // the escaped character, which may be a backslash
			continue
		}
		second, also := half(i + 6)
		if first >= 0xDC00 || !also || second < 0xDC00 {
			return i
		}
		i += 11
	}
	return -1
}

// escapePointer writes a key as one step of a JSON pointer (RFC 6901).
func escapePointer(key string) string {
	if !strings.ContainsAny(key, "~/") {
		return key
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// shown is how much of a mistaken value an error repeats.
const shown = 64

// shorten cuts long text that a caller sent, so that an error stays readable.
func shorten(s string) string {
	if len(s) <= 2*shown {
		return s
	}
	return strings.ToValidUTF8(s[:shown], "") + "…"
}

// quoted is text of the caller's inside an error: short, with controls visible.
func quoted(s string) string { return strconv.Quote(shorten(s)) }
