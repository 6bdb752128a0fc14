package handlers

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"
)

// connections bounds how many connections are open, so that the collection has the
// descriptors that it needs whatever callers do.
//
// At the bound a new connection takes the place of another one, in this order: one
// that has sent nothing yet, the one that has been silent the longest; one between
// two requests, the one that has been idle the longest; one whose request comes in
// more slowly than it has to, the one that has been waited for the longest. What has
// arrived and was not read yet counts as sent. A flood therefore takes no place from
// callers who send their requests. Where every connection has a whole request under
// way, or the silent ones have had no time to send theirs (grace), the new one waits,
// and those behind it in the system's queue: a caller whose connection is closed would
// try again at once.
type connections struct {
	rate float64 // bytes a second in which a request has to come in

	mu      sync.Mutex
	most    int // 0: no bound
	open    map[*connection]struct{}
	room    chan struct{} // closed when a place may have come free
	givenUp *prometheus.CounterVec
}

func newConnections(bytesASecond int) *connections {
	return &connections{rate: float64(bytesASecond), open: map[*connection]struct{}{}, room: make(chan struct{}),
		givenUp: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "conclave_connections_given_up_total",
			Help: "Connections closed for others to have their place: idle ones, new ones that had sent no request, and active ones whose request came too slowly.",
		}, []string{"state"})}
}

// patience is how long every request may take to come in.
const patience = time.Second

// grace is how long a new connection may be silent before it can be given up: a caller
// on a busy machine may not run between connecting and sending. It bounds how many
// silent connections are taken a second, to 20 times as many as may be open.
const grace = 50 * time.Millisecond

// writeBuffer is how much the system keeps for a connection of what was written and
// not taken. Left to itself it keeps megabytes, which nobody counts, and for which a
// caller that reads nothing looks like one that reads.
const writeBuffer = 256 << 10

// connection is one accepted connection. Its fields are guarded by its connections.
type connection struct {
	net.Conn
	all *connections

	state  http.ConnState
	since  time.Time
	whole  bool          // of the request under way: all of it has come in
	came   int           // bytes of it
	waited time.Duration // for them, but for the read that has begun
	began  time.Time     // when that began; zero: none has
	spoken bool          // in this state: something has arrived that was not read yet
}

// silent reports whether nothing has come since the connection was made, or since its
// last request.
func (c *connection) silent() bool {
	return !c.spoken && (c.state == http.StateIdle || c.state == http.StateNew && c.came == 0)
}

// arrived asks the system whether something waits to be read.
func (c *connection) arrived() bool {
	socket, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	if err := raw.Control(func(fd uintptr) {
		n, _, _ = unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
	}); err != nil {
		return false // it is closed
	}
	return n > 0
}

// late is how long this request has been waited for, when that is too long.
func (c *connection) late(now time.Time) time.Duration {
	waited := c.waited
	if !c.began.IsZero() {
		waited += now.Sub(c.began)
	}
	if c.whole || waited < patience || float64(c.came) >= c.all.rate*waited.Seconds() {
		return 0
	}
	return waited
}

// Read notes how long the caller makes the server wait.
func (c *connection) Read(b []byte) (int, error) {
	c.all.locked(func() { c.began = time.Now() })
	n, err := c.Conn.Read(b)
	c.all.locked(func() {
		c.waited += time.Since(c.began)
		c.began = time.Time{}
		c.came += n
	})
	return n, err
}

// CloseWrite ends the sending half, which net/http does before it gives a client
// time to read an error.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close closes the connection and gives its place back.
func (c *connection) Close() error {
	err := c.Conn.Close()
	c.all.locked(func() {
		delete(c.all.open, c)
		c.all.wake()
	})
	return err
}

func (n *connections) locked(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
}

func (n *connections) wake() {
	close(n.room)
	n.room = make(chan struct{})
}

// admit counts a connection in when there is a place for it, unless stop is closed
// first.
func (n *connections) admit(c *connection, stop <-chan struct{}) bool {
	for {
		n.mu.Lock()
		if n.most == 0 || len(n.open) < n.most {
			c.since = time.Now()
			n.open[c] = struct{}{}
			n.mu.Unlock()
			return true
		}
		room, last := n.room, n.last()
		wait := patience / 4 // a request may be late by then
		if last != nil && last.state == http.StateNew && last.silent() {
			if wait = grace - time.Since(last.since); wait > 0 {
				last = nil
			}
		}
		if last != nil {
			n.givenUp.WithLabelValues(last.state.String()).Inc()
			delete(n.open, last)
		}
		n.mu.Unlock()
		if last != nil {
			_ = last.Close()
			continue
		}
		select {
		case <-room:
		case <-time.After(wait):
		case <-stop:
			return false
		}
	}
}

// last is the connection to give up first, or nil when all are at work.
func (n *connections) last() *connection {
	for {
		found := n.first()
		if found == nil || !found.silent() || !found.arrived() {
			return found
		}
		found.spoken = true
	}
}

// first is the connection to give up first, by what is known of them.
func (n *connections) first() *connection {
	var found *connection
	now := time.Now()
	// Silent ones are new, or else idle. The states are numbered: new, active, idle.
	before := func(a, b *connection) bool {
		switch {
		case a.silent() != b.silent():
			return a.silent()
		case !a.silent():
			return a.late(now) > b.late(now)
		case a.state != b.state:
			return a.state < b.state
		}
		return a.since.Before(b.since)
	}
	for c := range n.open {
		if !c.silent() && c.late(now) == 0 {
			continue
		}
		if found == nil || before(c, found) {
			found = c
		}
	}
	return found
}

// changed is what net/http says of a connection.
func (n *connections) changed(conn net.Conn, state http.ConnState) {
	c, ok := conn.(*connection)
	if !ok || state == http.StateClosed || state == http.StateHijacked {
		return
	}
	n.locked(func() {
		c.state, c.since, c.spoken = state, time.Now(), false
		switch state {
		case http.StateActive:
			c.whole, c.came, c.waited = false, 0, 0
		case http.StateIdle:
			n.wake() // it can be given up
		}
	})
}

type connectionKey struct{}

// withConnection lets a request's context know its connection.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// attended tells a connection when the whole request has come in. Requests of one
// connection come in side by side with HTTP/2, which is never taken for slow.
func attended(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			body := &attendedBody{r.Body, c}
			if r.Body == http.NoBody || r.ProtoMajor > 1 {
				body.ended()
			} else {
				r.Body = body
			}
		}
		next.ServeHTTP(w, r)
	})
}

type attendedBody struct {
	io.ReadCloser
	connection *connection
}

func (b *attendedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.ended()
	}
	return n, err
}

func (b *attendedBody) ended() {
	b.connection.all.locked(func() { b.connection.whole = true })
}

// boundedListener lets in no more connections than may be open.
type boundedListener struct {
	net.Listener
	connections *connections
	closing     sync.Once
	closed      chan struct{}
}

// Accept waits for a connection, and then for a place for it.
func (l *boundedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer) // or the system chooses it
	}
	c := &connection{Conn: conn, all: l.connections}
	if !l.connections.admit(c, l.closed) {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	return c, nil
}

// Close ends the listening, and Accept where it waits.
func (l *boundedListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// watch shows the connections in /metrics.
func (n *connections) watch(m *Metrics) error {
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() (v float64) {
			n.locked(func() { v = float64(value()) })
			return v
		})
	}
	for _, state := range []http.ConnState{http.StateIdle, http.StateNew, http.StateActive} {
		n.givenUp.WithLabelValues(state.String())
	}
	return errors.Join(m.Register(n.givenUp),
		m.Register(gauge("conclave_connections", "Connections that are open.", func() int { return len(n.open) })),
		m.Register(gauge("conclave_connections_limit", "Connections that may be open; 0 is any number.", func() int { return n.most })))
}
