package disk

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"
)

// Label returns a copy of text with a line before it that people can read: kind, format, and the checksum of the
// text. kind must be one word.
func Label(kind string, format int, text []byte) []byte {
	return append(fmt.Appendf(nil, "conclave %s %d xxh3 %s\n", kind, format, Sum(text)), text...)
}

// Unlabel returns the text after the line that Label added, as a part of data. It fails if the kind or the checksum
// is another one, and with a *FormatError for another format.
func Unlabel(kind string, format int, data []byte) ([]byte, error) {
	line, text, _ := bytes.Cut(data, []byte("\n"))
	var found int
	var sum string
	if n, err := fmt.Sscanf(string(line[:min(len(line), 200)]), "conclave "+kind+" %d xxh3 %s", &found, &sum); n < 1 {
		return nil, fmt.Errorf("it does not begin like a %s: %w", kind, err)
	}
	if found != format {
		return nil, &FormatError{found, format}
	}
	if sum != Sum(text) {
		return nil, errors.New("its checksum is wrong: the file is damaged")
	}
	return text, nil
}

// FormatError is the error of a file in a format that this program does not read.
type FormatError struct{ Found, Reads int }

// Error says which format was found, which is read, and what to do.
func (e *FormatError) Error() string {
	return fmt.Sprintf(
		"it has format %d, this program reads format %d: use the program that wrote it, or make it again", e.Found, e.Reads)
}

// Sum returns a checksum of data as 32 hexadecimal digits: 128 bits of xxh3.
func Sum(data []byte) string {
	sum := xxh3.Hash128(data)
	return fmt.Sprintf("%016x%016x", sum.Hi, sum.Lo)
}
