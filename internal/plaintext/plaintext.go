// Package plaintext reads text files as UTF-8, whichever program wrote them: a byte
// order mark is passed over, UTF-16 that begins with one is converted, and what is in
// another encoding is an error that says how it is converted.
package plaintext

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Mark is the byte order mark in UTF-8, which begins many files that were written on
// Windows. It is in the middle where such files were put together.
const Mark = "\xef\xbb\xbf"

// Error says that a text is in an encoding that is not read.
type Error struct {
	// Encoding is the name that iconv has for it; "" where it cannot be told.
	Encoding string
	Problem  string // "is not valid UTF-8"
	File     string // to convert; "" where it has no name
	Packed   bool   // the file is compressed with gzip
}

// Error returns the problem and then the Remedy.
func (e *Error) Error() string { return e.Problem + ". " + e.Remedy() }

// Remedy returns the line for a shell that converts the text to a new file, with advice before it. FILE and
// ENCODING stand for what is unknown.
func (e *Error) Remedy() string {
	encoding := e.Encoding
	from := "FILE"
	to := "FILE.utf8"
	says := "Convert it"
	if encoding == "" {
		encoding, says = "ENCODING", "Convert it, if you know its encoding"
	}
	if e.File != "" {
		from, to = inShell(e.File), inShell(strings.TrimSuffix(e.File, ".gz")+".utf8")
	}
	if e.Packed {
		return fmt.Sprintf("%s: gzip -dc < %s | iconv -f %s -t UTF-8 > %s", says, from, encoding, to)
	}
	return fmt.Sprintf("%s: iconv -f %s -t UTF-8 %s > %s", says, encoding, from, to)
}

// inShell returns a file name as a shell takes it: in single quotes if it has characters other than letters, digits
// and a few signs.
func inShell(name string) string {
	odd := func(r rune) bool {
		return !(r > 127 || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("/._-+=:,@%", r))
	}
	if strings.IndexFunc(name, odd) < 0 {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// NewReader returns the text of a file as UTF-8, read from in. A mark at the beginning is passed over, and UTF-16
// after its mark is converted. The error is an *Error where the beginning shows another encoding, or that of the
// file. Invalid UTF-8 further on is passed through.
func NewReader(in *bufio.Reader) (*bufio.Reader, error) {
	head, err := in.Peek(64)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")):
		return nil, &Error{Encoding: "UTF-32LE", Problem: "it is UTF-32 text"}
	case bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")):
		return nil, &Error{Encoding: "UTF-32BE", Problem: "it is UTF-32 text"}
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return newUTF16Reader(in, 0), nil
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return newUTF16Reader(in, 1), nil
	case bytes.HasPrefix(head, []byte(Mark)):
		_, err := in.Discard(len(Mark))
		return in, err
	}
	if encoding := encodingWithoutMark(head); encoding != "" {
		return nil, &Error{Encoding: encoding, Problem: "it is UTF-16 text without a byte order mark"}
	}
	return in, nil
}

// encodingWithoutMark returns the encoding of text in UTF-16 without a mark, by its first bytes; "" if it is not.
// Every other byte of an ASCII text in UTF-16 is NUL.
func encodingWithoutMark(head []byte) string {
	if len(head) < 4 {
		return ""
	}
	var nul [2]int
	for i, b := range head {
		if b == 0 {
			nul[i%2]++
		}
	}
	switch half := len(head) / 2; {
	case nul[0] == 0 && nul[1] > half*3/4:
		return "UTF-16LE"
	case nul[1] == 0 && nul[0] > half*3/4:
		return "UTF-16BE"
	}
	return ""
}

// Wrong returns the error for text that is not valid UTF-8; the caller sets its File. It guesses Windows-1252, the
// commonest of other encodings, unless a byte is no character of it.
func Wrong(text []byte) *Error {
	e := &Error{Problem: "it is not valid UTF-8"}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			switch text[i] {
			case 0x81, 0x8d, 0x8f, 0x90, 0x9d:
				return e
			}
		}
		i += size
	}
	e.Encoding, e.Problem = "WINDOWS-1252", "it is not valid UTF-8; most such texts are Windows-1252"
	return e
}
