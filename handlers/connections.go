package handlers

import (
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// connections bounds how many connections are open, so that the descriptors
// which the collection needs are there whatever callers do.
//
// One more than may be open takes the place of one that has sent nothing yet, the
// one that has been silent the longest, or else of the one that has been idle the
// longest between two requests. A flood of connections on which nothing happens
// therefore gives way to whoever asks, and takes no place from callers who keep
// theirs: whoever is let in has as long to begin as the flood needs to come round,
// and a caller who is closed between two requests may be sending the next one, which
// then fails. Where every connection has
// a request under way the new one waits, and those behind it in the system's
// queue: to close it at once would make its caller try again at once, which costs
// more than to wait for a place that comes free in a moment.
type connections struct {
	most int // 0: no bound

	mu      sync.Mutex
	open    map[*connection]struct{}
	room    chan struct{} // closed when one ends
	givenUp map[http.ConnState]int
}

func newConnections() *connections {
	return &connections{open: map[*connection]struct{}{}, room: make(chan struct{}), givenUp: map[http.ConnState]int{}}
}

// limit sets how many may be open.
func (n *connections) limit(most int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.most = most
}

// admit counts a connection in, when there is a place for it, unless stop is
// closed first.
func (n *connections) admit(c *connection, stop <-chan struct{}) bool {
	for {
		n.mu.Lock()
		if n.most == 0 || len(n.open) < n.most {
			n.open[c] = struct{}{}
			n.mu.Unlock()
			return true
		}
		room, idle := n.room, n.idlest()
		if idle != nil {
			n.givenUp[idle.state]++
			delete(n.open, idle)
		}
		n.mu.Unlock()
		if idle != nil {
			_ = idle.Close()
			continue
		}
		select {
		case <-room:
		case <-stop:
			return false
		}
	}
}

// idlest is the connection to give up first, or nil when all are at work.
func (n *connections) idlest() *connection {
	var found *connection
	for c := range n.open {
		switch {
		case c.state == http.StateActive:
		case found == nil, c.state == http.StateNew && found.state != http.StateNew, c.state == found.state && c.since.Before(found.since):
			found = c
		}
	}
	return found
}

// changed is what net/http says of a connection.
func (n *connections) changed(conn net.Conn, state http.ConnState) {
	c, ok := conn.(*connection)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if state != http.StateClosed && state != http.StateHijacked {
		c.state, c.since = state, time.Now()
	}
	if state == http.StateIdle {
		n.wake() // it can be given up
	}
}

// ended counts a connection out.
func (n *connections) ended(c *connection) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, c)
	n.wake()
}

func (n *connections) wake() {
	close(n.room)
	n.room = make(chan struct{})
}

// connectionMetrics shows connections to Prometheus.
type connectionMetrics struct{ *connections }

func (connectionMetrics) descriptions() (open, most, givenUp *prometheus.Desc) {
	return prometheus.NewDesc("conclave_connections", "Connections that are open.", nil, nil),
		prometheus.NewDesc("conclave_connections_limit", "Connections that may be open; 0 is any number.", nil, nil),
		prometheus.NewDesc("conclave_connections_given_up_total", "Connections closed for others to have their place: idle ones, and new ones that had sent no request.", []string{"state"}, nil)
}

// Describe implements prometheus.Collector.
func (m connectionMetrics) Describe(out chan<- *prometheus.Desc) {
	open, most, givenUp := m.descriptions()
	out <- open
	out <- most
	out <- givenUp
}

// Collect implements prometheus.Collector.
func (m connectionMetrics) Collect(out chan<- prometheus.Metric) {
	open, most, givenUp := m.descriptions()
	m.mu.Lock()
	defer m.mu.Unlock()
	out <- prometheus.MustNewConstMetric(open, prometheus.GaugeValue, float64(len(m.open)))
	out <- prometheus.MustNewConstMetric(most, prometheus.GaugeValue, float64(m.most))
	for _, state := range []http.ConnState{http.StateIdle, http.StateNew} {
		out <- prometheus.MustNewConstMetric(givenUp, prometheus.CounterValue, float64(m.givenUp[state]), state.String())
	}
}
