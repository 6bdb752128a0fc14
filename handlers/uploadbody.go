package handlers

import (
	"net/http"
	"time"

	"example.org/conclave/handlers/upload"
	"example.org/conclave/internal/overload"
)

// extend gives the connection more time: an upload may take as long as it
// likes, as long as it goes on at the least rate.
func (u *uploadRequest) extend() {
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
func (u *uploadRequest) beginReading() {
	u.deadlines.Lock()
	u.pace.Begin()
	u.deadlines.Unlock()
	u.extend()
}

// endReading lifts the deadline for reading: passing while nobody reads, it
// would end the body of HTTP/2 for good, and behind the end of one of HTTP/1,
// where net/http reads on to notice a client that leaves, pass for that.
func (u *uploadRequest) endReading(came int) {
	u.deadlines.Lock()
	defer u.deadlines.Unlock()
	u.pace.End(came)
	_ = u.control.SetReadDeadline(time.Time{})
}

// stopReading ends the reading of a body that nobody wants, unless it is there to its end: the
// deadline would then end the next requests of its connection. The rest of another one is
// no request either, so that a connection of HTTP/1 ends with it.
func (u *uploadRequest) stopReading(body *upload.CountedBody) {
	if body.Ended.Load() {
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

// lookEvery is how often an upload looks whether its client is still there.
const lookEvery = 250 * time.Millisecond

// clientLeft reports whether the client has left, which nobody is told who does not read: its
// body may have come long before the last of it is stored. A client of HTTP/1 that has
// closed its half of the connection may wait for the answer: it is sent something that
// means nothing, which its system refuses if it has closed all of it.
func (u *uploadRequest) clientLeft() bool {
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
	if ended && !left && !u.asked && !u.answer.Begun() {
		u.asked = true
		u.w.WriteHeader(http.StatusContinue)
	}
	return left
}
