package handlers

import (
	"net/http"
	"time"

	"example.org/conclave/handlers/upload"
	"example.org/conclave/internal/overload"
)

// extendDeadlines moves the connection's deadlines. The client may take any time as long as it sends at the least rate
// (WriteLimits.BytesASecond).
func (u *uploadRequest) extendDeadlines() {
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

// beginReading starts the time in which the client has to send, and sets the connection's read deadline.
func (u *uploadRequest) beginReading() {
	u.deadlines.Lock()
	u.pace.Begin()
	u.deadlines.Unlock()
	u.extendDeadlines()
}

// endReading records that came bytes arrived, and removes the read deadline. If it passed while nobody reads, it would
// end the body of HTTP/2 for good; in HTTP/1, net/http would take it for a client that left.
func (u *uploadRequest) endReading(came int) {
	u.deadlines.Lock()
	defer u.deadlines.Unlock()
	u.pace.End(came)
	_ = u.control.SetReadDeadline(time.Time{})
}

// stopReading aborts the reading of a body of which no more is wanted. It does nothing if the body was read to its end.
// A connection of HTTP/1 is closed, since the rest of the body is not a request.
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

// clientLeft reports whether the client has left. It looks at most once in lookEvery and returns false in between. A
// client of HTTP/1 that only closed its sending half may wait for the answer: it is sent 100 Continue, which fails on a
// connection that is closed both ways.
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
