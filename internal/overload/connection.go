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

// Connection is an accepted connection that measures how long its client keeps the server waiting. A clock runs while a
// read or write is under way and no request of the connection is at work; a request is at work while the server
// computes for it and waits neither for its body nor for the client to take its answer. debt is the time that the clock
// has run, minus the time that the bytes which moved meanwhile may take at the least rate: bytes of requests and
// answers, but of HTTP/2 only those of bodies, since other frames cost a client nothing. The fields are guarded by the
// mutex of the set of connections, all.
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

// EndReading makes every later Read return io.EOF. Call it when the rest of a request's body is not wanted.
func (c *Connection) EndReading() { c.noMoreReads.Store(true) }

// Ended reports whether the caller will send nothing more (ended), and whether it has closed the connection
// altogether (left). left becomes known only after something was sent to the caller. Both are false where the
// operating system cannot tell, as on all but Linux.
func (c *Connection) Ended() (ended, left bool) { return c.hasEnded() }

// isSilent reports whether nothing has come since the connection was made, or since its last request. all.mu must
// be held.
func (c *Connection) isSilent() bool {
	return !c.spoken && c.came == 0 && (c.state == http.StateIdle || c.state == http.StateNew)
}

// overdueTime returns how long the server has waited for the caller beyond what the least rate allows; 0 if that is
// less than patience, the clock stands or something has arrived that was not read yet. all.mu must be held.
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

// changeClock adds the time since the last call to the debt if the clock runs, calls do with the current time and
// the lock of c.all held, and lets the clock run or stop by the new state. do must not take the lock.
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

// isAwaited reports whether the server waits for the caller, so that the clock must run. Of HTTP/2, which is read
// from all the time, that is so while no request is at work. all.mu must be held.
func (c *Connection) isAwaited() bool {
	switch {
	case c.working > 0 || c.isSilent():
		return false
	case c.http2:
		return c.begun || c.state != http.StateActive
	}
	return c.reading || c.writing
}

// creditSent reduces the debt for bytes of a request that arrived, by the time that they may take at the least rate.
// The debt may become negative, down to -credit.
func (c *Connection) creditSent(bytes int) { c.debt = max(c.debt-c.all.timeOf(int64(bytes)), -credit) }

// creditTaken reduces the debt for bytes of an answer that the system or the client took, by the time that they may
// take at the least rate. The debt does not become negative, since the system takes many bytes before the client reads
// any. all.mu must be held.
func (c *Connection) creditTaken(bytes int64) {
	if c.debt > 0 {
		c.debt = max(c.debt-c.all.timeOf(bytes), 0)
	}
}

// Read reads what was read ahead in the Listener, or else from the connection, and counts the time and the bytes. It
// returns io.EOF after EndReading.
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

// countRead counts bytes that arrived. The first bytes of a request set the debt to 0. Bytes of a header in HTTP/1
// reduce the debt (creditSent), and up to mostHeader of them are kept for framedTwice. all.mu must be held.
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

// mostHeader is the most bytes of a request's header that are kept.
const mostHeader = 64 << 10

// readPreface compares the connection's first bytes with the preface of HTTP/2, and sets http2 once all of it has come.
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

// Write writes to the connection, and counts the time and the bytes that the caller takes. Of HTTP/2 only bodies count.
// It returns the error of the connection.
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

// sampleTaken adds the time since the last call to the debt of a write under way, and takes off what the bytes are
// worth that the client has acknowledged since then, as the system counts them. The first call in a write has no
// earlier count, so it sets a positive debt to 0 instead. Without a write under way, or if the system does not count,
// it does nothing.
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

// withDescriptor calls do with the connection's file descriptor, which must not be kept. It returns false, without
// calling do, if the connection has none or is closed.
func (c *Connection) withDescriptor(do func(fd int)) bool {
	socket, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	return err == nil && raw.Control(func(fd uintptr) { do(int(fd)) }) == nil // or it is closed
}

// hasUnread reports whether bytes wait to be read: some that were read ahead, or some that the system holds. It does
// not block.
func (c *Connection) hasUnread() bool {
	n := len(c.ahead)
	if n == 0 {
		c.withDescriptor(func(fd int) { n, _, _ = unix.Recvfrom(fd, make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT) })
	}
	return n > 0
}

// CloseWrite closes the sending half. net/http does so before it gives a client time to read an error. It returns nil
// if the connection has no halves.
func (c *Connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// linger is how long Close discards the rest of an unwanted body. Without that the system would reset the connection,
// and the client might lose the answer.
const linger = 500 * time.Millisecond

// Close closes the connection and gives its place back. After EndReading it first closes the sending half, and discards
// for at most linger what still comes, so that the client can read the answer. It returns the error of closing the
// connection.
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

// frames follows the frames of HTTP/2 in the bytes written to a connection, however they are cut.
type frames struct {
	head [9]byte
	have int // bytes of head
	left int // bytes of the payload
}

// bodyBytes returns how many of the bytes belong to the DATA frames of HTTP/2. It keeps frames that end in a later
// call.
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
