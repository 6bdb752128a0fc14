package handlers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/overload"
)

// extend gives the connection more time: an upload may take as long as it
// likes, as long as it goes on at the least rate.
func (u *upload) extend() {
	u.deadlines.Lock()
	defer u.deadlines.Unlock()
	w := &u.api.options.Write
	if until, waited := u.pace.Until(w.Grace, w.BytesASecond); waited {
		if read := u.api.readTimeout.Load(); read > 0 {
			if next := time.Now().Add(time.Duration(read)); next.Before(until) {
				until = next
			}
		}
		_ = u.control.SetReadDeadline(until)
	}
	u.api.extendWriting(u.control)
}

// beginReading gives the client its time to send.
func (u *upload) beginReading() {
	u.deadlines.Lock()
	u.pace.Begin()
	u.deadlines.Unlock()
	u.extend()
}

// endReading lifts the deadline for reading: passing while nobody reads, it
// would end the body of HTTP/2 for good, and behind the end of one of HTTP/1,
// where net/http reads on to notice a client that leaves, pass for that.
func (u *upload) endReading(came int) {
	u.deadlines.Lock()
	defer u.deadlines.Unlock()
	u.pace.End(came)
	_ = u.control.SetReadDeadline(time.Time{})
}

// stopReading ends the reading of a body that nobody wants, unless it is there to its end: the
// deadline would then end the next requests of its connection. The rest of another one is
// no request either, so that a connection of HTTP/1 ends with it.
func (u *upload) stopReading(body *countedBody) {
	if body.ended.Load() {
		return
	}
	if u.request.ProtoMajor == 1 {
		u.header.Set("Connection", "close") // unless the header has been sent
		if c := overload.ConnectionOf(u.request.Context()); c != nil {
			c.EndReading()
		}
	}
	_ = u.control.SetReadDeadline(time.Now())
}

// errTooMuch ends the reading of a body beyond its limit.
var errTooMuch = errors.New("the body is larger than it may be")

func bodyTooLarge(most int64) *schema.Problem {
	return schema.NewProblem(
		"body_too_large",
		fmt.Sprintf("An upload may have %d bytes; send the rest in another one.", most),
	)
}

// countedBody bounds a body, and tells when it is read from.
type countedBody struct {
	body  io.Reader
	read  atomic.Int64
	ended atomic.Bool // it came to its end
	most  int64
	begin func()
	end   func(came int)
}

func (c *countedBody) Read(b []byte) (int, error) {
	read := c.read.Load()
	if read > c.most {
		return 0, errTooMuch
	}
	// One byte beyond the limit tells that there is more.
	if rest := c.most + 1 - read; int64(len(b)) > rest {
		b = b[:rest]
	}
	c.begin()
	n, err := c.body.Read(b)
	c.end(n)
	if err == io.EOF {
		c.ended.Store(true)
	}
	if c.read.Add(int64(n)) > c.most {
		return n - 1, errTooMuch
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

// lookEvery is how often an upload looks whether its client is still there.
const lookEvery = 250 * time.Millisecond

// clientLeft reports whether the client has left, which nobody is told who does not read: its
// body may have come long before the last of it is stored. A client of HTTP/1 that has
// closed its half of the connection may wait for the answer: it is sent something that
// means nothing, which its system refuses if it has closed all of it.
func (u *upload) clientLeft() bool {
	if time.Since(u.looked) < lookEvery {
		return false
	}
	u.looked = time.Now()
	if u.request.ProtoMajor > 1 {
		return u.request.Context().Err() != nil
	}
	c := overload.ConnectionOf(u.request.Context())
	if c == nil {
		return false
	}
	ended, left := c.Ended()
	if ended && !left && !u.asked && !u.answer.begun() {
		u.asked = true
		u.w.WriteHeader(http.StatusContinue)
	}
	return left
}
