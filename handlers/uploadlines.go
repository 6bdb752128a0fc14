package handlers

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

// rawLine is one line of an upload that is not blank.
type rawLine struct {
	number  int // from 1
	text    []byte
	tooLong bool // text is empty then
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

func newLineReader(body io.Reader, most int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(body, 64<<10), most: most}
}

// next returns the next chunk; it has no lines when only blank ones came. After the
// last it is io.EOF, or why the body broke off. What was cut off in the middle
// of a line is not given out.
func (l *lineReader) next() (lines []rawLine, err error) {
	if l.ended != nil {
		return nil, l.ended
	}
	bytes := 0
	for bytes < uploadChunk {
		l.skipBlank()
		line, err := l.one()
		if line.text != nil || line.tooLong {
			lines = append(lines, line)
			bytes += len(line.text)
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
func (l *lineReader) one() (line rawLine, err error) {
	l.line++
	line.number = l.line
	for {
		part, err := l.in.ReadSlice('\n')
		if !line.tooLong && len(line.text)+len(part) > l.most+1 { // and its end
			line.tooLong, line.text = true, nil
		}
		if !line.tooLong {
			line.text = append(line.text, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return rawLine{}, err
		}
		// Of files that came from Windows, also behind others.
		line.text = bytes.TrimPrefix(line.text, []byte("\xef\xbb\xbf"))
		line.text = bytes.TrimSpace(line.text)
		if len(line.text) == 0 {
			line.text = nil
		}
		return line, err
	}
}

// bodyProblem makes a problem of the end of a body that came before its time.
func bodyProblem(err error, most int64) *schema.Problem {
	switch {
	case errors.Is(err, errTooMuch):
		return bodyTooLarge(most)
	case errors.Is(err, errNotList):
		return schema.NewProblem(
			"not_json",
			"A body that is declared as application/json has to be one list of passages; send a passage a line as application/x-ndjson.",
		)
	case errors.Is(err, errItemTooLong):
		return schema.NewProblem("line_too_long", "A passage of the list is longer than limits.line_bytes allows.")
	}
	if p := tooSlow(err); p != nil {
		return p
	}
	return schema.NewProblem("incomplete_body", "The body ended before its declared length, or is malformed.").Because(err)
}
