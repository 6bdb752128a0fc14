package evaluation

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// parsePythonList parses a list of strings as Python writes one, such as
// ['a', "it's"]. It evaluates nothing and takes only what it is for: a list, in
// it strings in single or double quotes with Python's escapes, neighbouring
// strings joined as Python joins them, and a comma after the last one. Prefixes
// u and r are known; bytes, f-strings, strings in triple quotes, numbers,
// names, and lists in the list are errors that name the place.
// (The Python Language Reference, 2.5.1, "Escape sequences".)
func parsePythonList(text string) ([]string, error) {
	p := pythonList{text: text}
	p.space()
	if !p.take('[') {
		return nil, p.expected("a list, which begins with [")
	}
	out := []string{}
	for {
		p.space()
		if p.take(']') {
			break
		}
		if len(out) > 0 {
			if !p.take(',') {
				return nil, p.expected("a comma or ]")
			}
			p.space()
			if p.take(']') {
				break
			}
		}
		value, err := p.joined()
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	p.space()
	if p.at < len(p.text) {
		return nil, p.expected("the end")
	}
	return out, nil
}

type pythonList struct {
	text string
	at   int
}

func (p *pythonList) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n\f", p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *pythonList) peek(offset int) byte {
	if p.at+offset < len(p.text) {
		return p.text[p.at+offset]
	}
	return 0
}

func (p *pythonList) take(b byte) bool {
	if p.at < len(p.text) && p.text[p.at] == b {
		p.at++
		return true
	}
	return false
}

func (p *pythonList) expected(what string) error {
	column := utf8.RuneCountInString(p.text[:p.at]) + 1
	if p.at >= len(p.text) {
		return fmt.Errorf("character %d: %s is expected, and there is nothing more", column, what)
	}
	return fmt.Errorf("character %d: %s is expected, not %s", column, what, shown(p.text[p.at:]))
}

// joined parses one string or several in a row, which are one.
func (p *pythonList) joined() (string, error) {
	var out strings.Builder
	for n := 0; ; n++ {
		p.space()
		raw, start := false, p.at
		switch p.peek(0) {
		case 'u', 'U':
			p.at++
		case 'r', 'R':
			raw = true
			p.at++
		}
		quote := p.peek(0)
		if quote != '\'' && quote != '"' {
			p.at = start
			if n > 0 && start < len(p.text) && (p.text[start] == ',' || p.text[start] == ']') {
				return out.String(), nil
			}
			if n > 0 {
				return "", p.expected("a comma or ]")
			}
			return "", p.expected("a text in quotes")
		}
		if p.peek(1) == quote && p.peek(2) == quote {
			return "", p.expected("a text in single or double quotes")
		}
		p.at++
		if err := p.body(&out, quote, raw); err != nil {
			return "", err
		}
	}
}

// body parses up to the closing quote.
func (p *pythonList) body(out *strings.Builder, quote byte, raw bool) error {
	for p.at < len(p.text) {
		b := p.text[p.at]
		switch {
		case b == quote:
			p.at++
			return nil
		case b == '\n' || b == '\r':
			return p.expected("the closing quote before the end of the line")
		case b == 0:
			return p.expected("a character other than NUL")
		case b == '\\' && raw:
			// A raw text keeps the backslash, and what follows it is no end.
			if p.at+1 >= len(p.text) {
				p.at++
				continue
			}
			if next := p.text[p.at+1]; next == '\n' || next == '\r' {
				return p.expected("the closing quote before the end of the line")
			}
			_, size := utf8.DecodeRuneInString(p.text[p.at+1:])
			out.WriteString(p.text[p.at : p.at+1+size])
			p.at += 1 + size
		case b == '\\':
			if err := p.escape(out); err != nil {
				return err
			}
		default:
			_, size := utf8.DecodeRuneInString(p.text[p.at:])
			out.WriteString(p.text[p.at : p.at+size])
			p.at += size
		}
	}
	return p.expected("the closing quote " + string(quote))
}

// escape parses what begins with a backslash. One that Python does not know
// stays as it is, backslash and all, as Python has it.
func (p *pythonList) escape(out *strings.Builder) error {
	start := p.at
	p.at++
	b := p.peek(0)
	const single, meaning = `\'"abfnrtv`, "\\'\"\a\b\f\n\r\t\v"
	if i := strings.IndexByte(single, b); i >= 0 && b != 0 {
		out.WriteByte(meaning[i])
		p.at++
		return nil
	}
	code, digits := rune(0), 0
	switch {
	case b >= '0' && b <= '7': // one to three octal digits
		for digits < 3 && p.peek(digits) >= '0' && p.peek(digits) <= '7' {
			code = code<<3 | rune(p.peek(digits)-'0')
			digits++
		}
		p.at += digits
	case b == 'x' || b == 'u' || b == 'U':
		want := map[byte]int{'x': 2, 'u': 4, 'U': 8}[b]
		p.at++
		for digits < want {
			value := strings.IndexByte("0123456789abcdef0123456789ABCDEF", p.peek(digits))
			if value < 0 {
				p.at = start
				return p.expected(fmt.Sprintf("an escape \\%c with %d hexadecimal digits", b, want))
			}
			code = code<<4 | rune(value%16)
			digits++
		}
		p.at += digits
	case b == 'N':
		p.at = start
		return p.expected("an escape other than \\N{name}, which is not known here")
	case b == '\n':
		p.at++ // a backslash at the end of the line joins the lines
		return nil
	case b == 0 && p.at >= len(p.text), b == '\r':
		return p.expected("what the backslash escapes")
	default:
		out.WriteByte('\\')
		return nil
	}
	if !utf8.ValidRune(code) {
		p.at = start
		return p.expected("an escape that is a character")
	}
	out.WriteRune(code)
	return nil
}
