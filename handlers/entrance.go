package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// entrance lets in no more connections than may be open. Where there is no place, it
// hears what a new one asks. A health check gets a place of those that such have. Others
// wait for a place, first come first served. Where as many are here as may be, the one
// that has said nothing for the longest is closed, or else the one that has waited the
// longest is told to come back: so nobody who comes later, such as a health check, waits
// behind a flood.
type entrance struct {
	net.Listener
	connections *connections
	most        int           // connections that may be here
	within      time.Duration // how long a connection has to say what it asks; 0: any time
	isProbe     func(path string) bool

	in      chan entered
	closing sync.Once
	closed  chan struct{}
	running sync.WaitGroup

	mu      sync.Mutex
	unheard []*guest
	waiting []*guest
	came    chan struct{} // holds one where somebody waits
}

// guest is a connection without a place.
type guest struct {
	*connection
	came time.Time
	gone bool // it is not among those that are here any more
}

type entered struct {
	connection *connection
	err        error
}

// newEntrance begins to accept connections. wait returns when it has ended.
func newEntrance(
	l net.Listener,
	all *connections,
	most int,
	within time.Duration,
	isProbe func(string) bool,
) *entrance {
	e := &entrance{Listener: l, connections: all, most: max(most, 1), within: within, isProbe: isProbe,
		in: make(chan entered), closed: make(chan struct{}), came: make(chan struct{}, 1)}
	e.running.Go(e.welcome)
	e.running.Go(e.usher)
	return e
}

// wait waits until nothing of it runs any more.
func (e *entrance) wait() { e.running.Wait() }

// Accept waits for a connection that has a place.
func (e *entrance) Accept() (net.Conn, error) {
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

// Close ends the listening, and closes the connections that wait.
func (e *entrance) Close() error {
	e.closing.Do(func() { close(e.closed) })
	err := e.Listener.Close()
	e.locked(func() {
		for _, g := range append(e.unheard, e.waiting...) {
			g.gone = true
			_ = g.Close()
		}
		e.unheard, e.waiting = nil, nil
	})
	return err
}

func (e *entrance) locked(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	do()
}

// pass hands a connection with a place to the server.
func (e *entrance) pass(in entered) {
	select {
	case e.in <- in:
	case <-e.closed:
		if in.connection != nil {
			_ = in.connection.Close()
		}
	}
}

// welcome accepts connections.
func (e *entrance) welcome() {
	for {
		conn, err := e.Listener.Accept()
		if err != nil {
			e.pass(entered{err: err})
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(writeBuffer) // or the system chooses it
		}
		c := &connection{Conn: conn, all: e.connections}
		waits := false
		e.locked(func() { waits = len(e.waiting) > 0 })
		if !waits && e.connections.hasRoom() {
			if ok, _ := e.connections.enter(c); ok {
				e.pass(entered{connection: c})
				continue
			}
		}
		e.stay(&guest{connection: c, came: time.Now()})
	}
}

// stay takes in a connection for which there is no place, and hears it.
func (e *entrance) stay(g *guest) {
	for {
		wait := e.makeRoom()
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
	e.locked(func() {
		select {
		case <-e.closed:
		default:
			stays = true
			e.unheard = append(e.unheard, g)
		}
	})
	if !stays {
		_ = g.Close()
		return
	}
	e.running.Go(func() { e.hear(g) })
}

// makeRoom turns somebody away where as many are here as may be. It returns how long it
// has to be waited for where nobody can be yet.
func (e *entrance) makeRoom() (wait time.Duration) {
	var away *guest
	heard := false
	e.locked(func() {
		if len(e.unheard)+len(e.waiting) < e.most {
			return
		}
		if len(e.unheard) > 0 {
			wait = grace - time.Since(e.unheard[0].came)
			if wait <= 0 {
				away = e.unheard[0]
			}
		}
		if away == nil && len(e.waiting) > 0 {
			away = e.waiting[0]
			heard = true
			wait = 0
		}
		if away != nil {
			e.leave(away)
		}
	})
	if away != nil {
		e.connections.givenUp.WithLabelValues(waitingName).Inc()
		if heard {
			away.refuse()
		}
		_ = away.Close()
	}
	return wait
}

// leave expects that mu is held.
func (e *entrance) leave(g *guest) {
	g.gone = true
	for _, list := range []*[]*guest{&e.unheard, &e.waiting} {
		for i, other := range *list {
			if other == g {
				*list = append((*list)[:i:i], (*list)[i+1:]...)
				return
			}
		}
	}
}

// saysEnough is how much of a request is read before it is known to be no health check.
const saysEnough = 4 << 10

// hear reads what a connection asks.
func (e *entrance) hear(g *guest) {
	if e.within > 0 {
		_ = g.SetReadDeadline(g.came.Add(e.within))
	}
	buffer := make([]byte, saysEnough)
	probe := false
	for {
		n, err := g.Conn.Read(buffer[len(g.ahead):])
		g.ahead = buffer[:len(g.ahead)+n]
		if err != nil {
			e.locked(func() { e.leave(g) })
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
		e.checkHealth(g)
		return
	}
	e.locked(func() {
		if !g.gone {
			e.leave(g)
			g.gone = false
			e.waiting = append(e.waiting, g)
		}
	})
	select {
	case e.came <- struct{}{}:
	default:
	}
}

// asksHealth reports whether a request's first line is that of a health check.
func (e *entrance) asksHealth(line string) bool {
	method, rest, _ := strings.Cut(line, " ")
	path, _, _ := strings.Cut(rest, " ")
	path, _, _ = strings.Cut(path, "?")
	return (method == http.MethodGet || method == http.MethodHead) && e.isProbe(path)
}

// mayHaveBody reports whether a header announces a body, or is not whole.
func mayHaveBody(header []byte) bool {
	header, _, whole := bytes.Cut(bytes.ToLower(header), []byte("\r\n\r\n"))
	return !whole || bytes.Contains(header, []byte("\r\ncontent-length")) ||
		bytes.Contains(header, []byte("\r\ntransfer-encoding"))
}

// checkHealth gives a health check its place.
func (e *entrance) checkHealth(g *guest) {
	e.locked(func() { e.leave(g) })
	for {
		wait := e.connections.enterProbe(g.connection)
		if wait <= 0 {
			e.pass(entered{connection: g.connection})
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

// usher gives places to those that wait.
func (e *entrance) usher() {
	for {
		var next *guest
		e.locked(func() {
			if len(e.waiting) > 0 {
				next = e.waiting[0]
			}
		})
		if next == nil {
			select {
			case <-e.came:
				continue
			case <-e.closed:
				return
			}
		}
		ok, room := e.connections.enter(next.connection)
		if ok {
			gone := false
			e.locked(func() {
				gone = next.gone
				if !gone {
					e.leave(next)
				}
			})
			if gone {
				_ = next.Close() // it was turned away meanwhile; its place is free again
			} else {
				e.pass(entered{connection: next.connection})
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

// refuse tells a connection that there is no place for it, where that is HTTP/1.
func (g *guest) refuse() {
	if bytes.HasPrefix(g.ahead, []byte("PRI ")) {
		return
	}
	p := newProblem("too_many_requests", "As many connections are open as may be, and as many wait for a place.")
	p.RequestID = randomHex(16)
	text, err := json.Marshal(p)
	if err != nil {
		return
	}
	_, _ = fmt.Fprintf(
		g.Conn,
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nX-Request-ID: %s\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		p.Status,
		http.StatusText(p.Status),
		typeProblem,
		p.RequestID,
		len(text),
		text,
	)
	_ = g.CloseWrite()
}
