package upload

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"example.org/conclave/handlers/schema"
)

// uploadChunk is how much of a body is handed on at a time, and with that how
// much of it is in memory while what came before is being stored.
const uploadChunk = 1 << 20

// Line is one line of an upload that is not blank.
type Line struct {
	Number  int // from 1
	Text    []byte
	TooLong bool // text is empty then
}

// lineReader cuts a body into lines. It returns what has arrived, up to uploadChunk bytes, so that no line waits for
// others that are still to be sent.
type lineReader struct {
	in    *bufio.Reader
	most  int // bytes of a line
	line  int // the number of the last line that was read
	ended error
}

// NewLineReader returns a reader of a body whose lines may have most bytes; longer ones are marked as too long.
func NewLineReader(body io.Reader, most int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(body, 64<<10), most: most}
}

// Next returns the next lines that have arrived; none if only blank ones did. It returns io.EOF after the last line, or
// the error that ended the body. A line that was cut off by an error is left out.
func (l *lineReader) Next() (lines []Line, err error) {
	if l.ended != nil {
		return nil, l.ended
	}
	bytes := 0
	for bytes < uploadChunk {
		l.skipBlank()
		line, err := l.readLine()
		if line.Text != nil || line.TooLong {
			lines = append(lines, line)
			bytes += len(line.Text)
		}
		if err != nil {
			l.ended = err
			return lines, nil
		}
		if !l.hasLine() {
			break
		}
	}
	return lines, nil
}

// skipBlank skips the blank lines that have arrived, all at once.
func (l *lineReader) skipBlank() {
	arrived, _ := l.in.Peek(l.in.Buffered())
	blank := len(arrived) - len(bytes.TrimLeft(arrived, " \t\r\n"))
	blank = bytes.LastIndexByte(arrived[:blank], '\n') + 1
	l.line += bytes.Count(arrived[:blank], []byte("\n"))
	_, _ = l.in.Discard(blank)
}

// hasLine reports whether a whole line is buffered.
func (l *lineReader) hasLine() bool {
	arrived, _ := l.in.Peek(l.in.Buffered())
	return bytes.IndexByte(arrived, '\n') >= 0
}

// readLine returns the next line, trimmed; its Text is nil if it is blank or too long. The last line may come together
// with io.EOF, if no line break follows it.
func (l *lineReader) readLine() (line Line, err error) {
	l.line++
	line.Number = l.line
	for {
		part, err := l.in.ReadSlice('\n')
		if !line.TooLong && len(line.Text)+len(part) > l.most+1 { // and its end
			line.TooLong, line.Text = true, nil
		}
		if !line.TooLong {
			line.Text = append(line.Text, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return Line{}, err
		}
		// Of files that came from Windows, also behind others.
		line.Text = bytes.TrimPrefix(line.Text, []byte("\xef\xbb\xbf"))
		line.Text = bytes.TrimSpace(line.Text)
		if len(line.Text) == 0 {
			line.Text = nil
		}
		return line, err
	}
}

// BodyProblem returns the problem for an error that ended a body of at most most bytes too early.
func BodyProblem(err error, most int64) *schema.Problem {
	switch {
	case errors.Is(err, ErrTooMuch):
		return BodyTooLarge(most)
	case errors.Is(err, errNotList):
		return schema.NewProblem(
			"not_json",
			"A body that is declared as application/json has to be one list of passages; send a passage a line as application/x-ndjson.",
		)
	case errors.Is(err, errItemTooLong):
		return schema.NewProblem("line_too_long", "A passage of the list is longer than limits.line_bytes allows.")
	}
	if p := TooSlow(err); p != nil {
		return p
	}
	return schema.NewProblem("incomplete_body", "The body ended before its declared length, or is malformed.").Because(err)
}

// GroupLines bounds the lines that are stored together, and with that how far
// an answer may go beyond its bound.
const GroupLines = 4096
