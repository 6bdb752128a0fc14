package overload

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Listener accepts no more connections than Connections allows. It reads the first request of a new connection for
// which there is no place: a health check gets one of the places for these, and others queue. If too many queue, it
// closes the one that has been silent the longest, or else answers the one that has waited the longest with a refusal.
// So a health check never waits behind a flood.
type Listener struct {
	net.Listener
	connections *Connections
	options     ListenerOptions

	in      chan acceptedConnection
	closing sync.Once
	closed  chan struct{}
	running sync.WaitGroup

	mu       sync.Mutex
	unread   []*pending
	waiting  []*pending
	arrivals chan struct{} // holds one where somebody waits
}

// pending is a connection without a place.
type pending struct {
	*Connection
	came    time.Time
	removed bool // it is not among those that are here any more
}

// acceptedConnection is a result of Accept: a connection with a place, or an error.
type acceptedConnection struct {
	connection *Connection
	err        error
}

// ListenerOptions configure what a Listener does with connections for which there is no place.
type ListenerOptions struct {
	Waiting int           // most connections that may wait, at least 1
	Within  time.Duration // how long a connection may take to send its first request; 0: any time
	// IsProbe reports whether a path is that of a health check.
	IsProbe func(path string) bool
	// Refusal returns the answer over HTTP/1 to a connection that is turned away.
	Refusal func() []byte
}

// Listen returns a Listener that accepts the connections of l in the background and returns them from Accept once they
// have a place. Close and then Wait end it.
func (n *Connections) Listen(l net.Listener, o ListenerOptions) *Listener {
	o.Waiting = max(o.Waiting, 1)
	e := &Listener{
		Listener:    l,
		connections: n,
		options:     o,
		in:          make(chan acceptedConnection),
		closed:      make(chan struct{}),
		arrivals:    make(chan struct{}, 1),
	}
	e.running.Go(e.acceptAll)
	e.running.Go(e.admitWaiting)
	return e
}

// Wait waits until the Listener's goroutines have ended. Call it after Close.
func (e *Listener) Wait() { e.running.Wait() }

// Accept waits for the next connection that has a place and returns it. It returns net.ErrClosed after Close, and the
// errors of the listener below.
func (e *Listener) Accept() (net.Conn, error) {
	select {
	case in := <-e.in:
		if in.err != nil {
			return nil, in.err
		}
		return in.connection, nil
	case <-e.closed:
		return nil, net.ErrClosed
	}
}

// Close stops accepting and closes the connections that wait for a place. Those that Accept returned stay open. It
// may be called several times; it does not wait for the goroutines (Wait). The error is that of the listener below.
func (e *Listener) Close() error {
	e.closing.Do(func() { close(e.closed) })
	err := e.Listener.Close()
	e.withLock(func() {
		for _, g := range append(e.unread, e.waiting...) {
			g.removed = true
			_ = g.Close()
		}
		e.unread, e.waiting = nil, nil
	})
	return err
}

// withLock calls do with e.mu held.
func (e *Listener) withLock(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	do()
}

// deliverConnection gives a connection that has a place, or an error, to a call of Accept. It closes the connection if
// the Listener is closed first.
func (e *Listener) deliverConnection(in acceptedConnection) {
	select {
	case e.in <- in:
	case <-e.closed:
		if in.connection != nil {
			_ = in.connection.Close()
		}
	}
}

// acceptAll accepts connections until the listener is closed. Those for which there is a place go to Accept, and
// the others to holdConnection. Errors go to Accept, too.
func (e *Listener) acceptAll() {
	for {
		conn, err := e.Listener.Accept()
		if err != nil {
			e.deliverConnection(acceptedConnection{err: err})
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(writeBuffer) // or the system chooses it
		}
		c := &Connection{Conn: conn, all: e.connections}
		waits := false
		e.withLock(func() { waits = len(e.waiting) > 0 })
		if !waits && e.connections.hasPlace() {
			if ok, _ := e.connections.admitConnection(c); ok {
				e.deliverConnection(acceptedConnection{connection: c})
				continue
			}
		}
		e.holdConnection(&pending{Connection: c, came: time.Now()})
	}
}

// holdConnection adds a connection to those that wait for a place, evicts another one if too many wait, and reads
// the connection's first request in a goroutine (readAhead). It blocks while no other one can be evicted. Once the
// Listener is closed it closes the connection.
func (e *Listener) holdConnection(g *pending) {
	for {
		wait := e.evictOne()
		if wait <= 0 {
			break
		}
		select {
		case <-time.After(wait):
		case <-e.closed:
			_ = g.Close()
			return
		}
	}
	stays := false
	e.withLock(func() {
		select {
		case <-e.closed:
		default:
			stays = true
			e.unread = append(e.unread, g)
		}
	})
	if !stays {
		_ = g.Close()
		return
	}
	e.running.Go(func() { e.readAhead(g) })
}

// evictOne evicts the oldest connection that waits, if as many wait as may: one that has sent no request within grace,
// or else one that has, which is told so. It returns how long to wait until one can be evicted, 0 if there is room now.
func (e *Listener) evictOne() (wait time.Duration) {
	var away *pending
	heard := false
	e.withLock(func() {
		if len(e.unread)+len(e.waiting) < e.options.Waiting {
			return
		}
		if len(e.unread) > 0 {
			wait = grace - time.Since(e.unread[0].came)
			if wait <= 0 {
				away = e.unread[0]
			}
		}
		if away == nil && len(e.waiting) > 0 {
			away = e.waiting[0]
			heard = true
			wait = 0
		}
		if away != nil {
			e.removePending(away)
		}
	})
	if away != nil {
		e.connections.givenUp.WithLabelValues(waitingName).Inc()
		if heard {
			e.refuseConnection(away)
		}
		_ = away.Close()
	}
	return wait
}

// removePending removes a connection from those that wait and marks it as removed. mu must be held.
func (e *Listener) removePending(g *pending) {
	g.removed = true
	for _, list := range []*[]*pending{&e.unread, &e.waiting} {
		for i, other := range *list {
			if other == g {
				*list = append((*list)[:i:i], (*list)[i+1:]...)
				return
			}
		}
	}
}

// saysEnough is how many bytes of a request are read until it counts as not a health check.
const saysEnough = 4 << 10

// readAhead reads the beginning of a waiting connection's first request, at most saysEnough bytes. A health check
// without a body gets one of the places for these; others queue for a place. A connection that sends no request in
// time is closed.
func (e *Listener) readAhead(g *pending) {
	if e.options.Within > 0 {
		_ = g.SetReadDeadline(g.came.Add(e.options.Within))
	}
	buffer := make([]byte, saysEnough)
	probe := false
	for {
		n, err := g.Conn.Read(buffer[len(g.ahead):])
		g.ahead = buffer[:len(g.ahead)+n]
		if err != nil {
			e.withLock(func() { e.removePending(g) })
			_ = g.Close()
			return
		}
		whole := bytes.Contains(g.ahead, []byte("\r\n\r\n"))
		if line, _, ok := bytes.Cut(g.ahead, []byte("\r\n")); ok {
			probe = e.asksHealth(string(line))
			whole = whole || !probe
		}
		if whole || len(g.ahead) == len(buffer) {
			break
		}
	}
	_ = g.SetReadDeadline(time.Time{})
	if probe && !mayHaveBody(g.ahead) {
		e.admitProbe(g)
		return
	}
	e.withLock(func() {
		if !g.removed {
			e.removePending(g)
			g.removed = false
			e.waiting = append(e.waiting, g)
		}
	})
	select {
	case e.arrivals <- struct{}{}:
	default:
	}
}

// asksHealth reports whether this first line of a request is that of a health check: GET or HEAD of a path for which
// IsProbe is true.
func (e *Listener) asksHealth(line string) bool {
	method, rest, _ := strings.Cut(line, " ")
	path, _, _ := strings.Cut(rest, " ")
	path, _, _ = strings.Cut(path, "?")
	return (method == http.MethodGet || method == http.MethodHead) && e.options.IsProbe(path)
}

// mayHaveBody reports whether the header of a request announces a body, or is incomplete.
func mayHaveBody(header []byte) bool {
	header, _, whole := bytes.Cut(bytes.ToLower(header), []byte("\r\n\r\n"))
	return !whole || bytes.Contains(header, []byte("\r\ncontent-length")) ||
		bytes.Contains(header, []byte("\r\ntransfer-encoding"))
}

// admitProbe waits for one of the places of health checks and gives the connection to Accept. It closes the
// connection if the Listener is closed first.
func (e *Listener) admitProbe(g *pending) {
	e.withLock(func() { e.removePending(g) })
	for {
		wait := e.connections.enterProbe(g.Connection)
		if wait <= 0 {
			e.deliverConnection(acceptedConnection{connection: g.Connection})
			return
		}
		select {
		case <-time.After(wait):
		case <-e.closed:
			_ = g.Close()
			return
		}
	}
}

// admitWaiting gives places to the waiting connections, the oldest first, until the Listener is closed.
func (e *Listener) admitWaiting() {
	for {
		var next *pending
		e.withLock(func() {
			if len(e.waiting) > 0 {
				next = e.waiting[0]
			}
		})
		if next == nil {
			select {
			case <-e.arrivals:
				continue
			case <-e.closed:
				return
			}
		}
		ok, room := e.connections.admitConnection(next.Connection)
		if ok {
			removed := false
			e.withLock(func() {
				removed = next.removed
				if !removed {
					e.removePending(next)
				}
			})
			if removed {
				_ = next.Close() // it was turned away meanwhile; its place is free again
			} else {
				e.deliverConnection(acceptedConnection{connection: next.Connection})
			}
			continue
		}
		select {
		case <-room:
		case <-time.After(grace): // somebody may be silent or late by then
		case <-e.closed:
			return
		}
	}
}

// refuseConnection writes the answer of options.Refusal to a connection for which there is no place. To HTTP/2 it
// writes nothing.
func (e *Listener) refuseConnection(g *pending) {
	if bytes.HasPrefix(g.ahead, []byte("PRI ")) {
		return
	}
	_, _ = g.Conn.Write(e.options.Refusal())
	_ = g.CloseWrite()
}
