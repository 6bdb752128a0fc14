package disk

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"
)

// Label puts a line before text that people can read: what it is, its format,
// and the checksum of the text.
func Label(kind string, format int, text []byte) []byte {
	return append(fmt.Appendf(nil, "conclave %s %d xxh3 %s\n", kind, format, Sum(text)), text...)
}

// Unlabel returns the text behind a label, whose checksum is right.
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

// Error implements error.
func (e *FormatError) Error() string {
	return fmt.Sprintf(
		"it has format %d, this program reads format %d: use the program that wrote it, or make it again", e.Found, e.Reads)
}

// Sum returns a checksum for people and manifests: 128 bits of xxh3, hexadecimal.
func Sum(data []byte) string {
	sum := xxh3.Hash128(data)
	return fmt.Sprintf("%016x%016x", sum.Hi, sum.Lo)
}
