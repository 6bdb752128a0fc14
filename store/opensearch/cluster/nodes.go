package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// node is a node of the cluster, as the client knows it. While it is away (it does not answer) or apart (it reaches few
// others) it is asked last, and searches prefer copies of other nodes.
type node struct {
	url *url.URL

	mu    sync.Mutex
	id    string // the cluster's own name for it; "": not known
	away  bool
	apart bool      // it answers, and reaches less than half of the cluster's nodes (Client.reach)
	left  time.Time // when it was found away the last time
	retry time.Time // when a node that is away is looked for again
}

const (
	// answersSoon is how soon a node that works answers a question without work, or later
	// where all are late (durations.soon).
	answersSoon = 150 * time.Millisecond
	// awayFor is how long a node that is away is left alone.
	awayFor = time.Second
)

// markAway notes that a node does not answer: it is away until a look finds it, awayFor at least.
func (n *node) markAway() {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	n.retry = now.Add(awayFor)
	n.away = true
	n.left = now
}

// unsettled is for how long a node that answers again may return old data: more than the cluster takes to update it.
const unsettled = 30 * time.Second

// Settled reports whether every node has answered for the time unsettled, and so none may return old data.
func (c *Client) Settled() bool {
	return !slices.ContainsFunc(c.nodes, func(n *node) bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.away || n.apart || time.Since(n.left) < unsettled
	})
}

// errHangs is the error of a node that keeps connections open and answers nothing.
var errHangs = errors.New("the node does not answer any more")

// hangsAfter is the number of looks in a row, each of awayFor, that a node has to miss before a request to it is given
// up.
const hangsAfter = 3

// attended sends a request that changes something to one node, and gives it up with errHangs if the node misses
// hangsAfter looks in a row: then it is unknown what was done. A status other than 2xx is a *StatusError. operation
// is that of the path, for metrics (operationOf).
func (c *Client) attended(ctx context.Context, n *node, operation, method, path string, body []byte) ([]byte, error) {
	waiting, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	go func() {
		for missed := 0; missed < hangsAfter; {
			if Sleep(waiting, awayFor) != nil {
				return
			}
			if missed++; c.look(waiting, n, func() {}) {
				missed = 0
			}
		}
		giveUp(errHangs)
	}()
	answer, err := c.exchange(waiting, n, operation, method, path, body)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(waiting), errHangs) {
		return nil, fmt.Errorf("%s: %w", n.url.Host, errHangs)
	}
	return answer, err
}

// order returns the nodes in the order in which a request tries them: the next one in turn first, those away or apart
// last. It starts looks at nodes whose time to be looked at has come.
func (c *Client) order() []*node {
	first := int(c.next.Add(1) % uint64(len(c.nodes)))
	var out, last []*node
	for i := range c.nodes {
		n := c.nodes[(first+i)%len(c.nodes)]
		n.mu.Lock()
		switch {
		case !n.away && !n.apart:
			out = append(out, n)
		default:
			last = append(last, n)
			if now := time.Now(); now.After(n.retry) {
				n.retry = now.Add(awayFor)
				go c.look(context.Background(), n, func() {})
				if n.apart {
					go c.reach(n)
				}
			}
		}
		n.mu.Unlock()
	}
	return append(out, last...)
}

// look sends a node a small request and reports whether it answered within awayFor. If it has not answered soon
// (durations.soon), it counts as away and left is called from another goroutine; an answer ends that. It returns true
// if the context while ends meanwhile.
func (c *Client) look(while context.Context, n *node, left func()) bool {
	ctx, cancel := context.WithTimeout(while, awayFor)
	defer cancel()
	late := time.AfterFunc(c.looks.soon(), func() { n.markAway(); left() })
	start := time.Now()
	answer, err := c.ask(ctx, n, http.MethodGet, "/_nodes/_local?filter_path=nodes.*.name", nil)
	late.Stop()
	var status *StatusError
	if while.Err() != nil {
		return true // nobody waits for it
	}
	if err != nil && !(errors.As(err, &status) && status.Status < 500) { // one may forbid the question
		n.markAway()
		return false
	}
	c.looks.add(time.Since(start))
	var found struct {
		Nodes map[string]any `json:"nodes"`
	}
	_ = json.Unmarshal(answer, &found)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.away = false
	for id := range found.Nodes {
		n.id = id
	}
	return true
}

// reach asks a node how many nodes of the cluster answer it soon, and marks it as apart if fewer than half do, or
// else as not apart. It waits for awayFor at most; without an answer it changes nothing. A network that is split
// leaves connections open that nothing comes through, and until the cluster goes on without the smaller part, some 30
// seconds later, each part waits for the other one in every search.
func (c *Client) reach(n *node) {
	ctx, cancel := context.WithTimeout(context.Background(), awayFor)
	defer cancel()
	path := fmt.Sprintf("/_nodes/_all/ingest?timeout=%dms&filter_path=_nodes", c.looks.soon().Milliseconds())
	answer, err := c.ask(ctx, n, http.MethodGet, path, nil)
	var found struct {
		Nodes struct{ Total, Successful int } `json:"_nodes"`
	}
	if err != nil || json.Unmarshal(answer, &found) != nil {
		return // look says whether it answers
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.apart = 2*found.Nodes.Successful < found.Nodes.Total
	if n.apart {
		n.left = time.Now()
		n.retry = n.left.Add(awayFor)
	}
}

// lookAll looks at every node, and returns when each has answered or counts as away. Callers that come meanwhile wait
// for its end; it does nothing if the last one ended less than answersSoon ago.
func (c *Client) lookAll() {
	c.looking.Lock()
	defer c.looking.Unlock()
	if time.Since(c.looked) < answersSoon {
		return
	}
	var unknown sync.WaitGroup
	for _, n := range c.nodes {
		unknown.Add(1)
		known := sync.OnceFunc(unknown.Done)
		go func() {
			c.look(context.Background(), n, known)
			known()
		}()
		go c.reach(n) // is not waited for: where a node hangs, all others take their time to say so
	}
	unknown.Wait()
	c.looked = time.Now()
}

// SomeAway reports whether some nodes are away or apart, but not all: then all may be slow.
func (c *Client) SomeAway() bool {
	away := 0
	for _, n := range c.nodes {
		away += n.rank()
	}
	return away > 0 && away < len(c.nodes)
}

// preference returns the preference of searches for the copies of nodes that answer; "" if all answer, so that the
// cluster chooses.
func (c *Client) preference() string {
	var ids []string
	away := false
	for _, n := range c.nodes {
		n.mu.Lock()
		if n.away || n.apart {
			away = true
		} else if n.id != "" {
			ids = append(ids, n.id)
		}
		n.mu.Unlock()
	}
	if !away || len(ids) == 0 {
		return ""
	}
	slices.Sort(ids)
	return "_prefer_nodes:" + strings.Join(ids, ",")
}
