package overload

import (
	"net/http"
	"sync"
)

// Shares divides a number of places, such as open connections or uploads, between callers, so that no caller takes all
// of them. The first half of the places goes to any caller that asks. When half are taken, a caller gets another
// place only below its share: all places divided by the number of callers that hold some, or three quarters of them
// for a caller that is alone. It is safe for concurrent use.
type Shares struct {
	mu       sync.Mutex
	most     int // 0: any number
	taken    int
	byCaller map[string]int // by caller; never 0
}

// keptForComing is the part of the places that stays free for others while one caller alone holds places.
const keptForComing = 1. / 4

// NewShares returns Shares of most free places. With 0 there is no limit.
func NewShares(most int) *Shares { return &Shares{most: most, byCaller: map[string]int{}} }

// Resize changes the number of places. With 0 there is no limit. Places that are taken stay taken, even above most.
func (s *Shares) Resize(most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = most
}

// Take takes one place for a caller and returns true; the caller gives it back with Leave. It returns false, without
// waiting, if no place is free or the caller already has its share.
func (s *Shares) Take(caller string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.most > 0 && (s.taken >= s.most || s.taken >= s.most/2 && s.byCaller[caller] >= s.sharePlaces(caller)) {
		return false
	}
	s.taken++
	s.byCaller[caller]++
	return true
}

// sharePlaces returns the number of places that a caller may hold when half of all are taken: at least one. The caller
// counts among those that hold places. mu must be held.
func (s *Shares) sharePlaces(caller string) int {
	callers := len(s.byCaller)
	if s.byCaller[caller] == 0 {
		callers++
	}
	if callers == 1 {
		return max(s.most-int(keptForComing*float64(s.most)), 1)
	}
	return max(s.most/callers, 1)
}

// Leave gives back one place that Take took for this caller; call it once for each.
func (s *Shares) Leave(caller string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	s.byCaller[caller]--
	if s.byCaller[caller] == 0 {
		delete(s.byCaller, caller)
	}
}

// Count returns the number of places that a caller holds.
func (s *Shares) Count(caller string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byCaller[caller]
}

// Claim counts connection c as held by a caller while it serves a request of that caller. Call release when the request
// has been answered. Several concurrent requests of one caller on one HTTP/2 connection count once. ok is false, and
// release is nil, if the caller already holds its share of the connections: refuse the request. A connection that
// serves no other request is then the first to be closed when a new one needs its place. A nil connection and a
// health check's connection are not counted; for them ok is true.
func (n *Connections) Claim(c *Connection, caller string) (release func(), ok bool) {
	if c == nil || c.probe {
		return func() {}, true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if c.claims[caller] == 0 && !n.shares.Take(caller) {
		c.refused = c.refused || len(c.claims) == 0
		return nil, false
	}
	if c.claims == nil {
		c.claims = map[string]int{}
	}
	c.claims[caller]++
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		c.claims[caller]--
		if c.claims[caller] == 0 {
			delete(c.claims, caller)
			n.shares.Leave(caller)
		}
	}, true
}

// Held returns the number of connections that serve requests of a caller now.
func (n *Connections) Held(caller string) int { return n.shares.Count(caller) }

// isRefused reports whether Claim refused the connection's current request because its caller holds its share of
// connections. It is false once the connection is idle or has a new request.
func (c *Connection) isRefused() bool { return c.refused && c.state == http.StateActive }
