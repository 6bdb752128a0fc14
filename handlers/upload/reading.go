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

func BodyTooLarge(most int64) *schema.Problem {
	return schema.NewProblem(
		"body_too_large",
		fmt.Sprintf("An upload may have %d bytes; send the rest in another one.", most),
	)
}

// CountedBody bounds a body, and tells when it is read from.
type CountedBody struct {
	Body  io.Reader
	Taken atomic.Int64
	Ended atomic.Bool // it came to its end
	Most  int64
	Begin func()
	End   func(came int)
}

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

// contextReader is a body that ends with a context: what is made of a few bytes of a packed one
// may be much.
type contextReader struct {
	ctx  context.Context
	body io.Reader
}

func (w contextReader) Read(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.body.Read(b)
}

// TooSlow returns the problem of a client whose body did not come in time; nil where an error says
// something else.
func TooSlow(err error) *schema.Problem {
	slow := overload.Slow("the body did not arrive in time, or came too slowly", err)
	if slow == nil {
		return nil
	}
	return schema.NewProblem("slow_request", schema.Sentence(slow.What)).Because(slow)
}

// NewReader returns a function that reads the next chunk of lines of a body whose header is given: a text a line or,
// for application/json, a list, and either packed by gzip. A line may have lineBytes bytes, and what is unpacked
// bodyBytes. Reading ends with ctx.
func NewReader(
	ctx context.Context, header http.Header, body io.Reader, lineBytes int, bodyBytes int64,
) (next func() ([]Line, error), err error) {
	if header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		body = &atMost{unpacked, bodyBytes}
	}
	body = contextReader{ctx, body}
	if name, _, _ := mime.ParseMediaType(header.Get("Content-Type")); name == schema.TypeJSON {
		return newListReader(body, lineBytes).next, nil
	}
	return NewLineReader(body, lineBytes).Next, nil
}

// atMost bounds what a small body may be unpacked to.
type atMost struct {
	from io.Reader
	left int64
}

func (a *atMost) Read(b []byte) (int, error) {
	n, err := a.from.Read(b)
	a.left -= int64(n)
	if a.left < 0 {
		return 0, ErrTooMuch
	}
	return n, err
}
