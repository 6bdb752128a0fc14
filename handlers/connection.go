package handlers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// politeListener mends three manners of net/http that no hook changes:
//
//   - the errors that it answers by itself, before there is a request (a header
//     that is too large, a request that is not HTTP), are plain text; here they
//     are problems;
//   - a header that does not arrive in time is answered with 400 or not at all,
//     by chance of where it stopped; here with 408;
//   - a caller that closed its sending half after the request is taken for one
//     that left, and its request is cancelled; here it gets its answer.
//
// And it lets in no more connections than may be open.
type politeListener struct {
	net.Listener
	api     *API
	closing sync.Once
	closed  chan struct{}
}

func (l *politeListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, api: l.api, since: time.Now(), closed: make(chan struct{}), moved: make(chan struct{})}
	if !l.api.connections.admit(c, l.closed) {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	return c, nil
}

// Close ends the listening, and Accept where it waits.
func (l *politeListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// connection is one accepted connection. net/http reads it from one goroutine
// at a time and writes to it from one; closing and deadlines may come from any.
type connection struct {
	net.Conn
	api *API

	closed    chan struct{} // by Close
	closeOnce sync.Once

	state http.ConnState // with since, guarded by api.connections
	since time.Time

	mu       sync.Mutex
	deadline time.Time     // for reading; zero: none
	moved    chan struct{} // closed when the deadline is set anew
	slow     bool          // the last read ended at its deadline
	header   headerState   // of what came in since the last answer
	serving  bool          // a handler runs
	interim  bool          // its caller may be told 100

	writing sync.Mutex
	begun   bool // something was written since bytes last came in
}

// headerState says how much of a request's header came in.
type headerState struct {
	begun, whole bool
	lineEnds     int // at the end of what came in, one after the other
}

// see takes what came in. Behind the header it looks at nothing.
func (h *headerState) see(b []byte) {
	for i := 0; i < len(b) && !h.whole; i++ {
		h.begun = true
		switch b[i] {
		case '\n':
			h.lineEnds++
			h.whole = h.lineEnds == 2
		case '\r':
		default:
			h.lineEnds = 0
		}
	}
}

type connectionKey struct{}

// withConnection lets a request's context know its connection.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// attended tells the connection when a handler runs, and whether its caller
// knows interim answers: they came with HTTP/1.1, and HTTP/2 needs none of
// this.
func attended(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connectionKey{}).(*connection)
		if !ok || r.ProtoMajor != 1 {
			next.ServeHTTP(w, r)
			return
		}
		c.mu.Lock()
		c.serving, c.interim = true, r.ProtoMinor >= 1
		c.mu.Unlock()
		next.ServeHTTP(w, r)
		// Not after a panic: then the connection is cut, and nobody was slow.
		c.mu.Lock()
		c.serving, c.header = false, headerState{}
		c.mu.Unlock()
	})
}

// Read reads, and holds back the end of a request that was sent whole.
//
// While a handler runs, net/http reads ahead by one byte, which nothing else
// here does, to notice a caller that leaves. TCP does not tell one that closed
// the connection from one that closed its sending half and waits for the
// answer: both look like the end of the input.
func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	if n > 0 {
		c.header.see(b[:n])
		c.writing.Lock()
		c.begun = false
		c.writing.Unlock()
	}
	// net/http ends a read of its own with a deadline in the distant past.
	c.slow = errors.Is(err, os.ErrDeadlineExceeded) && c.deadline.Unix() > 1
	c.mu.Unlock()
	if err == io.EOF && len(b) == 1 {
		return n, c.untilGone()
	}
	return n, err
}

// firstProbe is how long a caller whose input ended is taken at its word. Most
// answers are there by then.
const firstProbe = 50 * time.Millisecond

// untilGone waits until the answer is written or the caller is known to have
// left. It finds that out by an interim answer, 100, which HTTP/1.1 lets a
// server send at any time and which clients ignore: a caller that is gone
// resets the connection, so that the next one cannot be written.
func (c *connection) untilGone() error {
	wait := firstProbe
	next := time.NewTimer(wait)
	defer next.Stop()
	for {
		c.mu.Lock()
		deadline, moved := c.deadline, c.moved
		c.mu.Unlock()
		var late <-chan time.Time
		if !deadline.IsZero() {
			left := time.Until(deadline)
			if left <= 0 {
				return os.ErrDeadlineExceeded
			}
			timer := time.NewTimer(left)
			defer timer.Stop() // of a few, since a deadline is set a few times a request
			late = timer.C
		}
		select {
		case <-c.closed:
			return net.ErrClosed
		case <-moved:
		case <-late:
		case <-next.C:
			if !c.probe() {
				return io.EOF
			}
			wait = min(2*wait, time.Second)
			next.Reset(wait)
		}
	}
}

// probe reports whether the caller can still be written to, as far as it can
// be told: not when the answer has begun, or for a caller that would take an
// interim answer for the answer.
func (c *connection) probe() bool {
	c.mu.Lock()
	interim := c.interim
	c.mu.Unlock()
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.begun || !interim {
		return true
	}
	_, err := io.WriteString(c.Conn, "HTTP/1.1 100 Continue\r\n\r\n")
	return err == nil
}

// SetReadDeadline also wakes untilGone: net/http ends a read that it no longer
// needs by a deadline in the past.
func (c *connection) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	c.deadline = t
	close(c.moved)
	c.moved = make(chan struct{})
	c.mu.Unlock()
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline sets both deadlines.
func (c *connection) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// plainError ends the header of each error that net/http answers by itself. No
// handler's answer begins like that: they have a Date, and their bodies are
// JSON, in which no line can end with CR LF.
const plainError = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// failedExpectation begins the one answer that net/http gives to an Expect
// that it does not know.
const failedExpectation = "HTTP/1.1 417 "

// Write passes everything on but net/http's own error answers, which are each
// written in one call.
func (c *connection) Write(b []byte) (int, error) {
	c.mu.Lock()
	late := c.slow && !c.header.whole && !c.serving
	if !c.serving {
		c.header = headerState{}
	}
	c.mu.Unlock()
	c.writing.Lock()
	defer c.writing.Unlock()
	c.begun = true
	if len(b) > 1024 || !bytes.HasPrefix(b, []byte("HTTP/1.1 4")) && !bytes.HasPrefix(b, []byte("HTTP/1.1 5")) {
		return c.Conn.Write(b)
	}
	head, _, plain := strings.Cut(string(b), plainError)
	if !plain && !strings.HasPrefix(head, failedExpectation) {
		return c.Conn.Write(b)
	}
	line := strings.TrimPrefix(head, "HTTP/1.1 ")
	if late {
		line = "408" // half a header is not HTTP because it is half
	}
	if _, err := c.Conn.Write(c.api.rawProblem(line, c.RemoteAddr())); err != nil {
		return 0, err
	}
	return len(b), nil
}

// CloseWrite ends the sending half, which net/http does before it gives a
// client time to read an error.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// lingering is how long a caller that was too slow has to read why, before the
// connection is closed over what it still sends: closing at once would take
// the answer back.
const lingering = 500 * time.Millisecond

// Close closes, after saying so to a caller whose header was too slow.
func (c *connection) Close() error {
	c.closeOnce.Do(func() {
		close(c.closed)
		defer c.api.connections.ended(c)
		c.mu.Lock()
		late := c.slow && c.header.begun && !c.header.whole && !c.serving
		c.mu.Unlock()
		if !late {
			return
		}
		_ = c.Conn.SetDeadline(time.Now().Add(lingering))
		if _, err := c.Conn.Write(c.api.rawProblem("408", c.RemoteAddr())); err == nil && c.CloseWrite() == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(c.Conn, 1<<20))
		}
	})
	return c.Conn.Close()
}
