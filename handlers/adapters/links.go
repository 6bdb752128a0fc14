package adapters

import (
	"strings"
	"unicode/utf8"
)

// linkFilter lets no text make a link or an image where it is shown as Markdown or HTML, but links to addresses
// that are allowed. Passages and models write the text: an image would be fetched as soon as the text is shown,
// with whatever the address says, and a link may run a script. One blank breaks each of them: between ] and what
// follows (CommonMark, section 6.3 and 4.7), behind the < of a tag or an address (6.5, 6.6), and in an address
// that programs make a link of by itself (GitHub's extension). The words stay.
type linkFilter struct {
	allowed map[string]bool
	held    string // what may go on as something that is looked at
	last    byte   // of what was let through
}

// mostAddress is how long an address may be for which its end is waited.
const mostAddress = 2 << 10

// linkedPrefixes begin addresses of which programs make links by themselves, up to where they are broken, and the rest.
var linkedPrefixes = [][2]string{
	{"http:", "//"}, {"https:", "//"}, {"ftp:", "//"}, {"www.", ""}, {"mailto:", ""}, {"xmpp:", ""},
}

// allow allows links to an address.
func (f *linkFilter) allow(address string) {
	if f.allowed == nil {
		f.allowed = map[string]bool{}
	}
	f.allowed[address] = true
}

// write returns what is shown of a text that goes on with a piece. Unless the piece ends it, some of it may be
// held back until the next one.
func (f *linkFilter) write(piece string, ends bool) string {
	in := f.held + piece
	f.held = ""
	var out strings.Builder
	emit := func(text string) {
		if text != "" {
			out.WriteString(text)
			f.last = text[len(text)-1]
		}
	}
	for in != "" {
		shown, taken, more := f.next(in)
		if more && !ends && len(in) < mostAddress {
			f.held = in
			break
		}
		emit(shown)
		in = in[taken:]
	}
	return out.String()
}

// next returns what is shown of the beginning of a text, and how many of its bytes that is for, at least one. more says
// that it depends on what follows the text.
func (f *linkFilter) next(in string) (shown string, taken int, more bool) {
	switch {
	case f.last == ']' && in[0] == '(':
		return f.enclosed(in, "(", ")", " (")
	case f.last == ']' && in[0] == ':':
		return " :", 1, false
	case in[0] == '<':
		if len(in) == 1 {
			return "<", 1, true
		}
		if c := in[1]; c|0x20 < 'a' || c|0x20 > 'z' {
			if c != '/' && c != '!' && c != '?' {
				return "<", 1, false
			}
		}
		return f.enclosed(in, "<", ">", "< ")
	}
	for _, p := range linkedPrefixes {
		whole := p[0] + p[1]
		n := min(len(in), len(whole))
		if !strings.EqualFold(in[:n], whole[:n]) {
			continue
		}
		if n < len(whole) {
			more = true
			continue
		}
		end := strings.IndexAny(in, " \t\r\n<")
		if end < 0 {
			end = len(in)
			more = true
		}
		address := strings.TrimRight(in[:end], ".,;:!?)]}'\"*_~>")
		if f.allowed[address] {
			return address, len(address), more
		}
		return in[:len(p[0])] + " " + p[1], len(whole), more
	}
	_, n := utf8.DecodeRuneInString(in)
	return in[:n], n, more
}

// enclosed returns what is shown of an address between two marks at the beginning of a text: all of it where it is
// allowed, or else broken in the place of the first mark.
func (f *linkFilter) enclosed(in, open, end, broken string) (shown string, taken int, more bool) {
	at := strings.IndexAny(in, " \t\r\n"+end)
	if at < 0 {
		return broken, len(open), true
	}
	if in[at] == end[0] && f.allowed[in[len(open):at]] {
		return in[:at+1], at + 1, false
	}
	return broken, len(open), false
}
