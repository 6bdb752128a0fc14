// Package upload reads the body of an upload in lines, whatever form it has, and keeps or sends the lines of its
// answer.
package upload

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync/atomic"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/overload"
)

// ErrTooMuch ends the reading of a body beyond its limit.
var ErrTooMuch = errors.New("the body is larger than it may be")

// BodyTooLarge returns the problem of a body with more than most bytes (413).
func BodyTooLarge(most int64) *schema.Problem {
	return schema.NewProblem(
		"body_too_large", fmt.Sprintf("An upload may have %d bytes; send the rest in another one.", most),
	)
}

// CountedBody is a body of at most Most bytes. It calls Begin and End around each read.
type CountedBody struct {
	Body  io.Reader
	Taken atomic.Int64
	Ended atomic.Bool // it came to its end
	Most  int64
	Begin func()
	End   func(came int)
}

// Read implements io.Reader. It returns ErrTooMuch once the body has more than Most bytes, after those.
func (c *CountedBody) Read(b []byte) (int, error) {
	read := c.Taken.Load()
	if read > c.Most {
		return 0, ErrTooMuch
	}
	// One byte beyond the limit tells that there is more.
	if rest := c.Most + 1 - read; int64(len(b)) > rest {
		b = b[:rest]
	}
	c.Begin()
	n, err := c.Body.Read(b)
	c.End(n)
	if err == io.EOF {
		c.Ended.Store(true)
	}
	if c.Taken.Add(int64(n)) > c.Most {
		return n - 1, ErrTooMuch
	}
	return n, err
}

// contextReader is a body whose reads fail once a context has ended. It wraps the decompressed body, since a few
// compressed bytes can become many.
type contextReader struct {
	ctx  context.Context
	body io.Reader
}

// Read implements io.Reader. It returns the context's error once the context has ended.
func (w contextReader) Read(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.body.Read(b)
}

// TooSlow returns the problem of a client whose body did not arrive in time (408); nil if err is another error.
func TooSlow(err error) *schema.Problem {
	slow := overload.Slow("the body did not arrive in time, or came too slowly", err)
	if slow == nil {
		return nil
	}
	return schema.NewProblem("slow_request", schema.Sentence(slow.What)).Because(slow)
}

// NewReader returns a function that returns the next lines of a body; io.EOF at the end. The header says whether the
// body has one JSON text a line or is a list (application/json), and whether it is compressed by gzip. A line may have
// lineBytes bytes, and the decompressed body bodyBytes. Reading stops when ctx ends. It fails if the compressed body is
// malformed.
func NewReader(
	ctx context.Context, header http.Header, body io.Reader, lineBytes int, bodyBytes int64,
) (next func() ([]Line, error), err error) {
	if header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		body = &boundedReader{unpacked, bodyBytes}
	}
	body = contextReader{ctx, body}
	if name, _, _ := mime.ParseMediaType(header.Get("Content-Type")); name == schema.TypeJSON {
		return newListReader(body, lineBytes).nextLines, nil
	}
	return NewLineReader(body, lineBytes).Next, nil
}

// boundedReader fails when more than a given number of bytes is read, as of a small body that decompresses to a large
// one.
type boundedReader struct {
	from io.Reader
	left int64
}

// Read implements io.Reader. It returns ErrTooMuch, and drops what it read last, if the body has more bytes than the
// bound.
func (a *boundedReader) Read(b []byte) (int, error) {
	n, err := a.from.Read(b)
	a.left -= int64(n)
	if a.left < 0 {
		return 0, ErrTooMuch
	}
	return n, err
}
