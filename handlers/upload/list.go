package upload

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// listReader cuts a JSON list of objects into lines. A line's number is its place in the list, from 1.
type listReader struct {
	in      *bufio.Reader
	most    int // bytes of an item
	item    int // the number of the last one that was read
	inside  bool
	decoder *json.Decoder
	ended   error
	limited *limitedReader
}

// limitedReader fails when more than `left` bytes are read for one item, since the decoder keeps these in memory.
type limitedReader struct {
	from io.Reader
	left int
}

var errItemTooLong = errors.New("an item of the list is longer than a line may be")

// Read implements io.Reader. It returns errItemTooLong once f.left bytes were read.
func (f *limitedReader) Read(b []byte) (int, error) {
	if f.left <= 0 {
		return 0, errItemTooLong
	}
	n, err := f.from.Read(b[:min(len(b), f.left)])
	f.left -= n
	return n, err
}

// newListReader returns a reader of a JSON list whose items may have most bytes.
func newListReader(body io.Reader, most int) *listReader {
	return &listReader{in: bufio.NewReaderSize(body, 64<<10), most: most}
}

// nextLines returns the JSON of the next items of the list as lines: about uploadChunk bytes, and at most GroupLines
// lines. It returns io.EOF after the last item, or the error that ended the body, in the call after the one that met
// it.
func (l *listReader) nextLines() (lines []Line, err error) {
	if l.ended != nil {
		return nil, l.ended
	}
	for size := 0; size < uploadChunk; {
		text, err := l.readItem()
		if err != nil {
			l.ended = err
			break
		}
		l.item++
		lines = append(lines, Line{Number: l.item, Text: text})
		size += len(text)
		if len(lines) == GroupLines {
			break
		}
	}
	return lines, nil
}

// readItem returns the JSON of the next item; io.EOF after the last. It returns errNotList if the body is not one list,
// errItemTooLong for an item of more than l.most bytes, and io.ErrUnexpectedEOF if the body ends within the list.
func (l *listReader) readItem() (json.RawMessage, error) {
	if l.decoder == nil {
		if first, err := l.in.Peek(3); err == nil && bytes.Equal(first, []byte("\xef\xbb\xbf")) {
			_, _ = l.in.Discard(3)
		}
		l.limited = &limitedReader{l.in, 2 * l.most}
		l.decoder = json.NewDecoder(l.limited)
	}
	l.limited.left = 2 * l.most // one of that length, and what was read ahead
	if !l.inside {
		first, err := l.decoder.Token()
		if err != nil {
			return nil, notJSONList(err)
		}
		if first != json.Delim('[') {
			return nil, errNotList
		}
		l.inside = true
	}
	if !l.decoder.More() {
		if _, err := l.decoder.Token(); err != nil {
			return nil, notJSONList(err)
		}
		return nil, l.nothingBehind()
	}
	var text json.RawMessage
	if err := l.decoder.Decode(&text); err != nil {
		return nil, notJSONList(err)
	}
	if len(text) > l.most {
		return nil, errItemTooLong
	}
	return text, nil
}

// nothingBehind returns io.EOF if only white space follows the list, else an error.
func (l *listReader) nothingBehind() error {
	if _, err := l.decoder.Token(); !errors.Is(err, io.EOF) {
		return errNotList
	}
	return io.EOF
}

var errNotList = errors.New("the body is no JSON list of objects")

// notJSONList returns the error of reading a list for an error of its JSON decoder: errNotList for malformed JSON, and
// io.ErrUnexpectedEOF if the body ended within the list. Other errors are returned as they are.
func notJSONList(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return errNotList
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
