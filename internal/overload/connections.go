package overload

import (
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Connections bounds how many connections are open, so that the collection has the
// descriptors that it needs whatever callers do.
//
// At the bound a new connection whose request has come takes the place of another one, in this order: one whose
// request was refused, since its caller has many others; one that has sent nothing yet, the one that has been
// silent the longest; one between two requests, the one that has been idle the longest; one that keeps the server
// waiting, for its request or for its answer to be taken, the one that does so the most. What has arrived and was
// not read yet counts as sent. A flood therefore takes no place from callers who send their requests and read
// their answers. Where there is none to be had, the new one waits (Listener), and health checks have places of
// their own.
type Connections struct {
	rate float64 // bytes a second in which a request has to come in, and an answer to be taken

	mu          sync.Mutex
	most        int // 0: no bound
	open        map[*Connection]struct{}
	probes      map[*Connection]struct{} // those in the places of health checks, which answer where all others are taken
	probePlaces int
	sampled     time.Time     // when the system was asked last what is taken
	freed       chan struct{} // closed when a place may have come free
	shares      *Shares       // the connections with requests under way, by caller (Claim)

	givenUp *prometheus.CounterVec
}

// NewConnections returns a set of connections without a limit. A client must send or take at least this many bytes a
// second.
func NewConnections(bytesASecond int) *Connections {
	return &Connections{
		rate:   float64(bytesASecond),
		open:   map[*Connection]struct{}{},
		probes: map[*Connection]struct{}{},
		freed:  make(chan struct{}),
		shares: NewShares(0),
		givenUp: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "conclave_connections_given_up_total",
			Help: "Connections closed for others to have their place: idle ones, new ones that had sent no request, active ones whose request came or whose answer was taken too slowly, and waiting ones for which there was no place.",
		}, []string{"state"}),
	}
}

// grace is how long a new connection may be silent before it can be given up: a caller
// on a busy machine may not run between connecting and sending.
const grace = 50 * time.Millisecond

// writeBuffer is how many written bytes the system keeps for a connection until the client takes them. If the system
// chose, it would keep megabytes, which count in no limit and make a client that reads nothing look like one that
// reads.
const writeBuffer = 256 << 10

// waitingName is the state, in the metrics, of connections that never had a place.
const waitingName = "waiting"

// timeOf returns how long a client may take to send or read this many bytes.
func (n *Connections) timeOf(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / n.rate * float64(time.Second))
}

// withLock calls do with n.mu held.
func (n *Connections) withLock(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
}

// wakeWaiting lets connections that wait in the Listener try again. n.mu must be held.
func (n *Connections) wakeWaiting() {
	close(n.freed)
	n.freed = make(chan struct{})
}

// hasPlace reports whether one more connection may be open.
func (n *Connections) hasPlace() (room bool) {
	n.withLock(func() { room = n.most == 0 || len(n.open) < n.most })
	return room
}

// admitConnection counts c as open, and closes another connection for it if the limit is reached. If none can be
// closed, it returns false, and room is a channel that is closed when it is worth trying again.
func (n *Connections) admitConnection(c *Connection) (entered bool, room <-chan struct{}) {
	for {
		n.mu.Lock()
		if n.most == 0 || len(n.open) < n.most {
			c.since = time.Now()
			n.open[c] = struct{}{}
			n.mu.Unlock()
			return true, nil
		}
		last := n.chooseVictim()
		room := n.freed
		if last != nil {
			n.givenUp.WithLabelValues(last.state.String()).Inc()
			delete(n.open, last)
		}
		n.mu.Unlock()
		if last == nil {
			return false, room
		}
		_ = last.Close()
	}
}

// enterProbe gives c one of the places of health checks and returns 0. If all are taken, it closes the oldest of their
// connections; if even that one is younger than grace, c gets no place and wait is how long to wait.
func (n *Connections) enterProbe(c *Connection) (wait time.Duration) {
	n.mu.Lock()
	var oldest *Connection
	if len(n.probes) >= n.probePlaces {
		for p := range n.probes {
			if oldest == nil || p.since.Before(oldest.since) {
				oldest = p
			}
		}
		wait = grace - time.Since(oldest.since)
		if wait > 0 {
			n.mu.Unlock()
			return wait
		}
		n.givenUp.WithLabelValues(oldest.state.String()).Inc()
		delete(n.probes, oldest)
	}
	c.since = time.Now()
	c.probe = true
	n.probes[c] = struct{}{}
	n.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
	return 0
}

// chooseVictim returns the connection to close first for a new one, in the order that Connections describes. It
// returns nil if none may be closed now. It updates what slow readers have taken, at most every patience/4, and
// marks connections that have sent something unread. n.mu must be held.
func (n *Connections) chooseVictim() *Connection {
	for c := range n.open {
		if c.isRefused() {
			return c
		}
	}
	now := time.Now()
	if now.Sub(n.sampled) >= patience/4 {
		n.sampled = now
		for c := range n.open {
			c.sampleTaken(now)
		}
	}
	for {
		found := n.mostOverdue(now)
		switch {
		case found == nil || !found.isSilent():
			return found
		case found.hasUnread():
			found.spoken = true
		case found.state == http.StateNew && now.Sub(found.since) < grace:
			return nil // until it has had its time
		default:
			return found
		}
	}
}

// mostOverdue returns the connection to close first, by its recorded state: a new one that has sent nothing, else an
// idle one, in both cases the longest silent, else the one that is most overdue. It returns nil if there is none. n.mu
// must be held.
func (n *Connections) mostOverdue(now time.Time) *Connection {
	var found *Connection
	// Silent ones are new, or else idle. The states are numbered: new, active, idle.
	before := func(a, b *Connection) bool {
		switch {
		case a.isSilent() != b.isSilent():
			return a.isSilent()
		case !a.isSilent():
			return a.overdueTime(now) > b.overdueTime(now)
		case a.state != b.state:
			return a.state < b.state
		}
		return a.since.Before(b.since)
	}
	for c := range n.open {
		switch {
		case !c.isSilent() && c.overdueTime(now) == 0:
		case found == nil || before(c, found):
			found = c
		}
	}
	return found
}

// Changed records a connection's new state. It is for http.Server.ConnState; closed and hijacked are ignored.
func (n *Connections) Changed(conn net.Conn, state http.ConnState) {
	c, ok := conn.(*Connection)
	if !ok || state == http.StateClosed || state == http.StateHijacked {
		return
	}
	c.changeClock(func(now time.Time) {
		c.state, c.since, c.spoken, c.begun, c.came, c.debt, c.refused = state, now, false, false, 0, 0, false
		if state == http.StateIdle {
			n.wakeWaiting() // it can be given up
		}
	})
}

// Limit sets the greatest number of open connections (0: no limit), and how many more may be open for health checks
// (at least one). Connections that are open stay open, even above the limit.
func (n *Connections) Limit(most, probes int) {
	n.withLock(func() {
		n.most = most
		n.probePlaces = max(probes, 1)
	})
	n.shares.Resize(most)
}

// Count returns the number of open connections, without those of health checks, and how many of them are in this state.
func (n *Connections) Count(state http.ConnState) (open, in int) {
	n.withLock(func() {
		open = len(n.open)
		for c := range n.open {
			if c.state == state {
				in++
			}
		}
	})
	return open, in
}

// Collectors returns the Prometheus metrics of the connections.
func (n *Connections) Collectors() []prometheus.Collector {
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() (v float64) {
			n.withLock(func() { v = float64(value()) })
			return v
		})
	}
	for _, state := range []http.ConnState{http.StateIdle, http.StateNew, http.StateActive} {
		n.givenUp.WithLabelValues(state.String())
	}
	n.givenUp.WithLabelValues(waitingName)
	return []prometheus.Collector{
		n.givenUp,
		gauge("conclave_connections", "Connections that are open.", func() int { return len(n.open) }),
		gauge(
			"conclave_connections_limit",
			"Connections that may be open; 0 is any number.",
			func() int { return n.most },
		),
	}
}
