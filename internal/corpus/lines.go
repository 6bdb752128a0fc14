package corpus

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"example.org/conclave/internal/plaintext"
)

// MaxLineBytes bounds a line of a file that is read, and with it the memory
// that a file can make the reader take.
const MaxLineBytes = 16 << 20

// errTooLong is what nextLine returns for a line that is too long. The line was skipped, so reading can go on.
var errTooLong = errors.New("line is too long")

// lineReader reads lines of bounded length and counts them. It is used in place of a bufio.Scanner because reading has
// to go on after a line that is too long, and the error has to say how long that was.
type lineReader struct {
	in     *bufio.Reader
	most   int
	number int // of the line that nextLine returned last, from 1
	buffer []byte
}

// newLineReader returns a reader of the lines of in, each of at most most bytes.
func newLineReader(in io.Reader, most int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 256<<10), most: most}
}

// nextLine returns the next line without its end (\n or \r\n), and io.EOF after the last one, which need not have an
// end. The bytes are valid until the next call. A line that is too long is skipped and returns errTooLong.
func (l *lineReader) nextLine() ([]byte, error) {
	l.buffer = l.buffer[:0]
	dropped, begun := 0, false
	for {
		part, err := l.in.ReadSlice('\n')
		if len(part) > 0 && !begun {
			begun = true
			l.number++
		}
		switch {
		case dropped > 0 || len(l.buffer)+len(part) > l.most+2:
			dropped += len(l.buffer) + len(part)
			l.buffer = l.buffer[:0]
		case err == nil && len(l.buffer) == 0:
			return l.finishLine(part)
		default:
			l.buffer = append(l.buffer, part...)
		}
		switch {
		case err == nil || err == io.EOF && begun:
			if dropped > 0 {
				if err == nil {
					dropped-- // the newline
				}
				return nil, fmt.Errorf("%w: %d bytes, %d are allowed", errTooLong, dropped, l.most)
			}
			return l.finishLine(l.buffer)
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return nil, err
		}
	}
}

// finishLine returns a line without its end (\n or \r\n) and without a byte order mark. It returns an error that wraps
// errTooLong if the line has more than l.most bytes.
func (l *lineReader) finishLine(line []byte) ([]byte, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > l.most {
		return nil, fmt.Errorf("%w: %d bytes, %d are allowed", errTooLong, len(line), l.most)
	}
	// At the beginning of the file, or of another that was put behind it.
	return bytes.TrimPrefix(line, []byte(plaintext.Mark)), nil
}
