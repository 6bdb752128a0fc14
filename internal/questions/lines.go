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

// maxLine is the largest number of bytes of a line of a question or judgement file.
const maxLine = 4 << 20

// lineFile is an open text file, which may be compressed with gzip.
type lineFile struct {
	*bufio.Reader
	file   *os.File
	packed bool // with gzip
}

// Close closes the file. It fails if closing does.
func (o *lineFile) Close() error { return o.file.Close() }

// openLines opens a text file: it decompresses gzip, skips a byte order mark and converts UTF-16. It fails if the file
// is not a regular one.
func openLines(path string) (*lineFile, error) {
	file, err := disk.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*lineFile, error) {
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
	return &lineFile{Reader: in, file: file, packed: packed}, nil
}

// fileError returns an error that names the file, the line and, unless it is "", the field.
func fileError(path string, line int, field, format string, args ...any) error {
	place := fmt.Sprintf("%s line %d", path, line)
	if field != "" {
		place += fmt.Sprintf(", field %q", field)
	}
	return fmt.Errorf("%s: %w", place, fmt.Errorf(format, args...))
}

// eachLine calls do with every line that is not blank, without its line break, until do returns an error, which it
// returns. line counts from 1, and text is valid during the call only. It fails for a line above maxLine.
func eachLine(path string, do func(line int, text []byte) error) (err error) {
	in, err := openLines(path)
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
			return fileError(path, line, "", "%w", wrong)
		}
		if err := do(line, text); err != nil {
			return err
		}
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		return fileError(path, line+1, "", "the line is longer than %d bytes", maxLine)
	}
	if scanner.Err() != nil {
		return fmt.Errorf("reading %s after line %d: %w", path, line, scanner.Err())
	}
	return nil
}
