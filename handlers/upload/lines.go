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

// lineReader cuts a body into lines, in chunks: what has arrived, up to
// uploadChunk, so that a line does not wait for others that are still to be
// sent.
type lineReader struct {
	in    *bufio.Reader
	most  int // bytes of a line
	line  int // the number of the last line that was read
	ended error
}

func NewLineReader(body io.Reader, most int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(body, 64<<10), most: most}
}

// Next returns the next chunk; it has no lines when only blank ones came. After the
// last it is io.EOF, or why the body broke off. What was cut off in the middle
// of a line is not given out.
func (l *lineReader) Next() (lines []Line, err error) {
	if l.ended != nil {
		return nil, l.ended
	}
	bytes := 0
	for bytes < uploadChunk {
		l.skipBlank()
		line, err := l.one()
		if line.Text != nil || line.TooLong {
			lines = append(lines, line)
			bytes += len(line.Text)
		}
		if err != nil {
			l.ended = err
			return lines, nil
		}
		if !l.more() {
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

// more reports whether a whole line has arrived already.
func (l *lineReader) more() bool {
	arrived, _ := l.in.Peek(l.in.Buffered())
	return bytes.IndexByte(arrived, '\n') >= 0
}

// one reads a line. With an error there is a line too when it is the last one,
// without an end.
func (l *lineReader) one() (line Line, err error) {
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

// BodyProblem makes a problem of the end of a body that came before its time.
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
