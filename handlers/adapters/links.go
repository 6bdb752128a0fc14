package adapters

import (
	"strings"
	"unicode/utf8"
)

// linkFilter breaks all links, images and HTML tags in a text that is shown as Markdown or HTML, except for links to
// allowed addresses. The text is untrusted, since passages and models write it: an image could send data to its address
// as soon as it is shown, and a link could run a script. A blank breaks each of them: between ] and ( or : (CommonMark,
// sections 6.3 and 4.7), after the < of a tag or address (6.5, 6.6), and inside a bare address (GitHub's extension).
// The words stay. The zero value allows no address.
type linkFilter struct {
	allowed map[string]bool
	pending string // the end of the text so far, which may be the beginning of a link
	last    byte   // last byte that write returned; 0: none
}

// mostAddress is the most bytes that are held back while the end of an address has not come.
const mostAddress = 2 << 10

// linkedPrefixes are the beginnings of bare addresses that programs turn into links. Each is split where the blank
// goes.
var linkedPrefixes = [][2]string{
	{"http:", "//"}, {"https:", "//"}, {"ftp:", "//"}, {"www.", ""}, {"mailto:", ""}, {"xmpp:", ""},
}

// allowAddress lets links to exactly this address pass from now on.
func (f *linkFilter) allowAddress(address string) {
	if f.allowed == nil {
		f.allowed = map[string]bool{}
	}
	f.allowed[address] = true
}

// filterPiece takes the next piece of the text and returns the filtered text to show now. Unless ends is set, which
// says that no link goes on after the piece, its end may be held back until the next call.
func (f *linkFilter) filterPiece(piece string, ends bool) string {
	in := f.pending + piece
	f.pending = ""
	var out strings.Builder
	emit := func(text string) {
		if text != "" {
			out.WriteString(text)
			f.last = text[len(text)-1]
		}
	}
	for in != "" {
		shown, taken, more := f.filterNext(in)
		if more && !ends && len(in) < mostAddress {
			f.pending = in
			break
		}
		emit(shown)
		in = in[taken:]
	}
	return out.String()
}

// filterNext filters the beginning of in, which must not be empty. It returns the text to show and how many bytes of in
// that stands for, at least one. more says that the result may change with the text that follows in.
func (f *linkFilter) filterNext(in string) (shown string, taken int, more bool) {
	switch {
	case f.last == ']' && in[0] == '(':
		return f.filterEnclosed(in, "(", ")", " (")
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
		return f.filterEnclosed(in, "<", ">", "< ")
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

// filterEnclosed filters the beginning of in, which consists of the mark open and an address, such as (https://... or
// <https://... . If the address is allowed and the mark end follows it, shown is all of that, unchanged; otherwise
// shown is broken, which replaces open. taken is how many bytes of in shown stands for. more says that the result may
// change with the text that follows in.
func (f *linkFilter) filterEnclosed(in, open, end, broken string) (shown string, taken int, more bool) {
	at := strings.IndexAny(in, " \t\r\n"+end)
	if at < 0 {
		return broken, len(open), true
	}
	if in[at] == end[0] && f.allowed[in[len(open):at]] {
		return in[:at+1], at + 1, false
	}
	return broken, len(open), false
}
