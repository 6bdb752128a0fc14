package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Show writes a result to out: value as one line of JSON, or, unless asJSON is set, what print writes. It returns the
// first error of writing.
func Show(out io.Writer, asJSON bool, value any, print func(w *ErrWriter)) error {
	if asJSON {
		return json.NewEncoder(out).Encode(value)
	}
	w := &ErrWriter{Out: out}
	print(w)
	return w.Err
}

// Count returns a number for people: with the unit "bytes" as "1.5 MiB", and with any other unit with commas between
// thousands and without the unit.
func Count(n int64, unit string) string {
	if unit == "bytes" {
		for _, step := range []struct {
			size int64
			name string
		}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
			if n >= step.size {
				return fmt.Sprintf("%.1f %s", float64(n)/float64(step.size), step.name)
			}
		}
		return fmt.Sprintf("%d bytes", n)
	}
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Plural counts things: "1 segment", "2,000 passages".
func Plural(n int64, thing string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(thing, "s"):
		thing += "es"
	default:
		thing += "s"
	}
	return Count(n, "") + " " + thing
}

// Columns returns the width of the terminal that out is, in characters; 80 if it is none or its width is unknown.
func Columns(out io.Writer) int {
	if file, ok := out.(*os.File); ok {
		if n, _, err := term.GetSize(int(file.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}

// Printable returns a text that cannot control the terminal: control characters, except for line breaks and tabs, and
// characters that change the direction of writing become U+FFFD.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Cut returns the text, or its beginning with … at its end if it has more than width characters. A width below 20
// counts as 20.
func Cut(text string, width int) string {
	if r := []rune(text); len(r) > max(width, 20) {
		return string(r[:max(width, 20)-1]) + "…"
	}
	return text
}

// Wrap returns a text broken into at most lines lines of at most width characters, at least 20. A word that is longer
// than a line is cut (Cut). The last line ends with … if more follows. White space counts as one space. A text without
// words gives nil.
func Wrap(text string, width, lines int) []string {
	width = max(width, 20)
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		word = Cut(word, width)
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			out = append(out, line)
			line = ""
			if len(out) == lines {
				last := out[lines-1]
				if utf8.RuneCountInString(last)+2 > width { // the sign takes the place of the last word
					last = last[:max(strings.LastIndexByte(last, ' '), 0)]
				}
				out[lines-1] = strings.TrimSpace(last + " …")
				return out
			}
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}

// ErrWriter writes texts to Out and keeps the first error in Err, so that a series of writes needs one check at its
// end.
type ErrWriter struct {
	Out io.Writer
	Err error
}

// Printf writes a formatted text; it does nothing once Err is set.
func (w *ErrWriter) Printf(format string, args ...any) {
	if w.Err == nil {
		_, w.Err = fmt.Fprintf(w.Out, format, args...)
	}
}
