package questions

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/plaintext"

	"github.com/klauspost/compress/gzip"
)

// maxLine bounds a line of a question or judgement file.
const maxLine = 4 << 20

// opened is a file that may be gzip-compressed.
type opened struct {
	*bufio.Reader
	file   *os.File
	packed bool // with gzip
}

func (o *opened) Close() error { return o.file.Close() }

// open opens a file and looks through gzip, past a byte order mark and through UTF-16.
func open(path string) (*opened, error) {
	file, err := disk.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*opened, error) {
		_ = file.Close()
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	in := bufio.NewReader(file)
	magic, err := in.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return fail(err)
	}
	if bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return fail(err)
		}
		in = bufio.NewReaderSize(unpacked, 64<<10)
	}
	packed := bytes.Equal(magic, []byte{0x1f, 0x8b})
	in, err = plaintext.NewReader(in)
	if err != nil {
		if encoding := new(plaintext.Error); errors.As(err, &encoding) {
			encoding.File, encoding.Packed = path, packed
		}
		return fail(err)
	}
	return &opened{Reader: in, file: file, packed: packed}, nil
}

// fault returns what is wrong with a file: where, in which field (may be ""), and
// what.
func fault(path string, line int, field, format string, args ...any) error {
	place := fmt.Sprintf("%s line %d", path, line)
	if field != "" {
		place += fmt.Sprintf(", field %q", field)
	}
	return fmt.Errorf("%s: %w", place, fmt.Errorf(format, args...))
}

// eachLine calls do with every line that is not blank, without its end. What do
// returns ends the reading. line counts from 1, and text is only valid during
// the call.
func eachLine(path string, do func(line int, text []byte) error) (err error) {
	in, err := open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	line := 0
	for scanner.Scan() {
		line++
		// Of a file that was put behind another one.
		text := bytes.TrimPrefix(scanner.Bytes(), []byte(plaintext.Mark))
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if !utf8.Valid(text) {
			wrong := plaintext.Wrong(text)
			wrong.File = path
			wrong.Packed = in.packed
			return fault(path, line, "", "%w", wrong)
		}
		if err := do(line, text); err != nil {
			return err
		}
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		return fault(path, line+1, "", "the line is longer than %d bytes", maxLine)
	}
	if scanner.Err() != nil {
		return fmt.Errorf("reading %s after line %d: %w", path, line, scanner.Err())
	}
	return nil
}
