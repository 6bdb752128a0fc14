package overload

import (
	"net/http"
	"sync"
)

// Shares divides a number of places between callers, so that one that takes all it can get leaves some to others.
// Half of the places are for whoever comes first. Beyond that a caller has its share: all places divided by the callers
// that have some, or three quarters of them for one that is alone. It is safe for concurrent use.
type Shares struct {
	mu    sync.Mutex
	most  int // 0: any number
	taken int
	of    map[string]int // by caller; never 0
}

// keptForComing is the share of the places that a caller leaves which is alone.
const keptForComing = 1. / 4

// NewShares returns so many places; 0: any number.
func NewShares(most int) *Shares { return &Shares{most: most, of: map[string]int{}} }

// Resize changes how many places there are; 0: any number. Who has more than that keeps them.
func (s *Shares) Resize(most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = most
}

// Take takes a place for a caller, which Leave gives back, or returns false where it has its share or none is left.
func (s *Shares) Take(caller string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.most > 0 && (s.taken >= s.most || s.taken >= s.most/2 && s.of[caller] >= s.share(caller)) {
		return false
	}
	s.taken++
	s.of[caller]++
	return true
}

// share returns how many places a caller may have, at least one. It expects that mu is held.
func (s *Shares) share(caller string) int {
	callers := len(s.of)
	if s.of[caller] == 0 {
		callers++
	}
	if callers == 1 {
		return max(s.most-int(keptForComing*float64(s.most)), 1)
	}
	return max(s.most/callers, 1)
}

// Leave gives a place of a caller back.
func (s *Shares) Leave(caller string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	s.of[caller]--
	if s.of[caller] == 0 {
		delete(s.of, caller)
	}
}

// Count returns how many places a caller has.
func (s *Shares) Count(caller string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[caller]
}

// Claim counts a connection as one that a caller holds, until release, which is called when the request that it is
// claimed for has been answered. Several requests at a time of one caller on one connection of HTTP/2 count once. It
// returns false where the caller holds as many as it may: the request is to be refused, and the connection is given up
// before all others. A nil connection, and that of a health check, is not counted.
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

// Held returns how many connections a caller holds with requests.
func (n *Connections) Held(caller string) int { return n.shares.Count(caller) }

// isRefused reports whether the connection's last request was refused for its caller's other connections, and no other
// one has begun since.
func (c *Connection) isRefused() bool { return c.refused && c.state == http.StateActive }
