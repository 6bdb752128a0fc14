package handlers

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// extend gives the connection more time: an upload may take as long as it
// likes, as long as it goes on. Nobody is too slow to send while nothing is
// read, or while what was sent before still waits to be stored.
func (u *upload) extend() {
	u.deadlines.Lock()
	defer u.deadlines.Unlock()
	if read := u.api.readTimeout.Load(); read > 0 && u.reading {
		_ = u.control.SetReadDeadline(time.Now().Add(time.Duration(read)))
	}
	u.api.extendWriting(u.control)
}

// beginReading gives the client its time to send.
func (u *upload) beginReading() {
	u.deadlines.Lock()
	u.reading = true
	u.deadlines.Unlock()
	u.extend()
}

// endReading lifts the deadline for reading: passing while nobody reads, it
// would end the body of HTTP/2 for good, and behind the end of one of HTTP/1,
// where net/http reads on to notice a client that leaves, pass for that.
func (u *upload) endReading() {
	u.deadlines.Lock()
	defer u.deadlines.Unlock()
	u.reading = false
	_ = u.control.SetReadDeadline(time.Time{})
}

// hurry ends the reading of a body that nobody wants.
func (u *upload) hurry() { _ = u.control.SetReadDeadline(time.Now()) }

// errTooMuch ends the reading of a body beyond its limit.
var errTooMuch = errors.New("the body is larger than it may be")

func tooMuch(most int64) *Problem {
	return newProblem("body_too_large", fmt.Sprintf("An upload may have %d bytes; send the rest in another one.", most))
}

// countedBody bounds a body, and tells when it is read from.
type countedBody struct {
	body       io.Reader
	read       int64
	most       int64
	begin, end func()
}

func (c *countedBody) Read(b []byte) (int, error) {
	if c.read > c.most {
		return 0, errTooMuch
	}
	// One byte beyond the limit tells that there is more.
	if rest := c.most + 1 - c.read; int64(len(b)) > rest {
		b = b[:rest]
	}
	c.begin()
	n, err := c.body.Read(b)
	c.end()
	if c.read += int64(n); c.read > c.most {
		return n - 1, errTooMuch
	}
	return n, err
}
