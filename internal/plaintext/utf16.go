package plaintext

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// utf16Reader converts UTF-16 to UTF-8.
type utf16Reader struct {
	in   *bufio.Reader
	low  int   // the place of the low byte in a unit: 0 or 1
	at   int64 // bytes that were read
	out  []byte
	fail error
}

// newUTF16Reader returns a reader of a UTF-16 text as UTF-8. in stands before the byte order mark, which it takes;
// low is the index, 0 or 1, of the lower byte of a unit.
func newUTF16Reader(in *bufio.Reader, low int) *bufio.Reader {
	r := &utf16Reader{in: in, low: low}
	if _, err := r.readUnit(); err != nil { // the mark
		r.fail = err
	}
	return bufio.NewReaderSize(r, 64<<10)
}

// Read implements io.Reader. Half a surrogate pair and half a unit are errors.
func (r *utf16Reader) Read(b []byte) (int, error) {
	for len(r.out) < min(len(b), 32<<10) && r.fail == nil {
		c, err := r.readCharacter()
		if err != nil {
			r.fail = err
			break
		}
		r.out = utf8.AppendRune(r.out, c)
	}
	n := copy(b, r.out)
	r.out = append(r.out[:0], r.out[n:]...)
	if n == 0 {
		return 0, r.fail
	}
	return n, nil
}

// readCharacter returns the next character, of one unit or of a pair of surrogates. It returns io.EOF at the end, and
// fails for half a pair.
func (r *utf16Reader) readCharacter() (rune, error) {
	first, err := r.readUnit()
	if err != nil || !utf16.IsSurrogate(first) {
		return first, err
	}
	second, err := r.readUnit()
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	c := utf16.DecodeRune(first, second)
	if c == utf8.RuneError {
		return 0, fmt.Errorf("the UTF-16 text has half a surrogate pair before byte %d", r.at)
	}
	return c, nil
}

// readUnit returns the next 16 bits, in the text's byte order. It returns io.EOF at the end, and fails if one byte is
// left over.
func (r *utf16Reader) readUnit() (rune, error) {
	var b [2]byte
	n, err := io.ReadFull(r.in, b[:])
	r.at += int64(n)
	if errors.Is(err, io.ErrUnexpectedEOF) && n == 1 {
		return 0, fmt.Errorf("the UTF-16 text ends in the middle of a character, at byte %d", r.at)
	}
	if err != nil {
		return 0, err
	}
	return rune(b[r.low]) | rune(b[1-r.low])<<8, nil
}
