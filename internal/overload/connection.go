package overload

import (
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// prefaceHTTP2 is what a connection of HTTP/2 begins with (RFC 9113, section 3.4), and
// dataFrame is the type of its frames that hold bodies (section 6.1).
const (
	prefaceHTTP2 = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	dataFrame    = 0
)

// Connection is one accepted connection, and how long its caller keeps the server
// waiting. Its fields are guarded by its connections.
//
// A request is at work while the server does something for it that neither waits for its
// body nor for its answer to be taken. While none of a connection is at work, and it is
// read from or written to, a clock runs: debt is what it has run, less the time in which what moved meanwhile has to
// move, at the least rate. What moves is what the caller sends of its requests, and what
// it takes of its answers: of HTTP/2 only what bodies hold, both ways, since other frames
// cost it nothing.
type Connection struct {
	net.Conn
	all         *Connections
	ahead       []byte      // what was read before the connection had a place
	probe       bool        // it has a place of those of health checks, for one request
	noMoreReads atomic.Bool // nothing more is read: what comes is the rest of a body that nobody wanted

	state  http.ConnState
	since  time.Time // in this state
	came   int       // bytes, in this state
	spoken bool      // in this state: something has arrived that was not read yet
	read   int       // bytes, at most as many as the preface of HTTP/2 has
	http2  bool

	claims  map[string]int // requests under way on it, by caller (Claim)
	refused bool           // Claim refused its current request and it had no other; false again in the next state

	header  []byte        // what came of the request's header, of HTTP/1
	working int           // requests at work
	begun   bool          // in this state: there was such a request
	reading bool          // a read is under way
	writing bool          // a write is under way
	clock   time.Time     // up to when debt is counted; zero: the clock stands
	debt    time.Duration // negative: what the caller is ahead

	taken   int64
	sampled bool   // taken is what of this write's connection had been taken at the last look
	frames  frames // that were written
}

// EndReading lets nothing more be read: what comes is the rest of a body that nobody wanted.
func (c *Connection) EndReading() { c.noMoreReads.Store(true) }

// Ended reports whether the caller will send nothing more, and left whether it has closed the
// connection altogether, which is known once something was sent to it.
func (c *Connection) Ended() (ended, left bool) { return c.hasEnded() }

// isSilent reports whether nothing has come since the connection was made, or since its
// last request.
func (c *Connection) isSilent() bool {
	return !c.spoken && c.came == 0 && (c.state == http.StateIdle || c.state == http.StateNew)
}

// overdueTime returns how long the server has waited for the caller, when that is too long.
func (c *Connection) overdueTime(now time.Time) time.Duration {
	debt := c.debt
	if c.clock.IsZero() || c.spoken {
		return 0
	}
	debt += now.Sub(c.clock)
	if debt < patience {
		return 0
	}
	return debt
}

// changeClock counts the time until now, changes something, and lets the clock run or stand.
func (c *Connection) changeClock(do func(now time.Time)) {
	c.all.withLock(func() {
		now := time.Now()
		if !c.clock.IsZero() {
			c.debt += now.Sub(c.clock)
		}
		do(now)
		c.clock = now
		if !c.isAwaited() {
			c.clock = time.Time{}
		}
	})
}

// isAwaited reports whether the caller is waited for. HTTP/2 is read from all the time.
func (c *Connection) isAwaited() bool {
	switch {
	case c.working > 0 || c.isSilent():
		return false
	case c.http2:
		return c.begun || c.state != http.StateActive
	}
	return c.reading || c.writing
}

// creditSent counts what came of a request.
func (c *Connection) creditSent(bytes int) { c.debt = max(c.debt-c.all.timeOf(int64(bytes)), -credit) }

// creditTaken counts what the caller took of an answer, which puts nobody ahead: the system
// takes much before anybody reads.
func (c *Connection) creditTaken(bytes int64) {
	if c.debt > 0 {
		c.debt = max(c.debt-c.all.timeOf(bytes), 0)
	}
}

// Read counts what comes.
func (c *Connection) Read(b []byte) (n int, err error) {
	if c.noMoreReads.Load() {
		return 0, io.EOF
	}
	c.changeClock(func(time.Time) {
		n = copy(b, c.ahead)
		if n == 0 {
			c.reading = true
			return
		}
		c.ahead = c.ahead[n:]
		if len(c.ahead) == 0 {
			c.ahead = nil
		}
		c.countRead(b[:n])
	})
	if n > 0 {
		return n, nil
	}
	n, err = c.Conn.Read(b)
	c.changeClock(func(time.Time) {
		c.reading = false
		if n > 0 {
			c.countRead(b[:n])
		}
	})
	return n, err
}

// countRead counts what was read.
func (c *Connection) countRead(b []byte) {
	if c.isSilent() || c.spoken {
		c.debt = 0 // a request begins
	}
	c.readPreface(b)
	c.came = c.came + len(b)
	c.spoken = false
	if !c.http2 && c.state != http.StateActive {
		c.creditSent(len(b)) // of a header
		c.header = append(c.header, b[:min(len(b), max(mostHeader-len(c.header), 0))]...)
	}
}

// mostHeader is how much of a header is looked at.
const mostHeader = 64 << 10

// readPreface looks at what comes first: whether it is that of HTTP/2.
func (c *Connection) readPreface(b []byte) {
	for ; c.read >= 0 && c.read < len(prefaceHTTP2) && len(b) > 0; b = b[1:] {
		if b[0] != prefaceHTTP2[c.read] {
			c.read = -1
			return
		}
		c.read++
	}
	c.http2 = c.read == len(prefaceHTTP2)
}

// Write counts what the caller takes.
func (c *Connection) Write(b []byte) (int, error) {
	c.changeClock(func(time.Time) { c.writing, c.sampled = true, false })
	n, err := c.Conn.Write(b)
	c.changeClock(func(time.Time) {
		moved := n
		if c.http2 {
			moved = c.frames.bodyBytes(b[:n])
		}
		c.writing = false
		c.creditTaken(int64(moved))
	})
	return n, err
}

// sampleTaken asks the system what has been taken of a write that waits. From the first look on
// it is known whether any is, so no time counts before.
func (c *Connection) sampleTaken(now time.Time) {
	if !c.writing || c.clock.IsZero() {
		return
	}
	taken, ok := c.acknowledgedBytes()
	if !ok {
		return
	}
	c.debt = c.debt + now.Sub(c.clock)
	c.clock = now
	if c.sampled {
		c.creditTaken(taken - c.taken)
	} else {
		c.debt = min(c.debt, 0)
	}
	c.taken, c.sampled = taken, true
}

// withDescriptor does something with the connection's descriptor.
func (c *Connection) withDescriptor(do func(fd int)) bool {
	socket, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	return err == nil && raw.Control(func(fd uintptr) { do(int(fd)) }) == nil // or it is closed
}

// hasUnread asks the system whether something waits to be read.
func (c *Connection) hasUnread() bool {
	n := len(c.ahead)
	if n == 0 {
		c.withDescriptor(func(fd int) { n, _, _ = unix.Recvfrom(fd, make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT) })
	}
	return n > 0
}

// CloseWrite ends the sending half, which net/http does before it gives a client
// time to read an error.
func (c *Connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// linger is how long what still comes of an unwanted body is taken: closed on unread
// bytes, a connection is reset, and its caller may lose the answer.
const linger = 500 * time.Millisecond

// Close closes the connection and gives its place back.
func (c *Connection) Close() error {
	if c.noMoreReads.Load() {
		placed := false // or others wait for it to be closed
		c.all.withLock(func() { _, placed = c.all.open[c] })
		if placed && c.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(linger)) == nil {
			_, _ = io.Copy(io.Discard, c.Conn)
		}
	}
	err := c.Conn.Close()
	c.all.withLock(func() {
		delete(c.all.open, c)
		delete(c.all.probes, c)
		c.all.wakeWaiting()
	})
	return err
}

// frames reads the frames of HTTP/2 that are written, in whatever pieces.
type frames struct {
	head [9]byte
	have int // bytes of head
	left int // bytes of the payload
}

// bodyBytes returns how many of the bytes are of answers' bodies.
func (f *frames) bodyBytes(b []byte) (bytes int) {
	for len(b) > 0 {
		if f.left == 0 {
			n := copy(f.head[f.have:], b)
			b = b[n:]
			f.have += n
			if f.have < len(f.head) {
				break
			}
			f.have = 0
			f.left = int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
		}
		n := min(f.left, len(b))
		if f.head[3] == dataFrame {
			bytes += n
		}
		b = b[n:]
		f.left = f.left - n
	}
	return bytes
}
