package cluster

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Exchange describes a request to one node, for metrics.
type Exchange struct {
	Node      string // host and port
	Operation string // msearch, mget, termvectors, bulk, and so on
	Outcome   string // ok, error, or overtaken: another node was asked too, and answered first
	Took      time.Duration
}

const (
	firstHedge = 200 * time.Millisecond // after which nodes are looked for at the latest
	leastHedge = 10 * time.Millisecond
	enoughKept = 20 // answers from which on their times are relied on
	mostHedges = 16 // that are in hand at a time: each takes two answers to earn
)

// durations holds how long the last answers to an operation took, and how many hedges are left: requests that go to a
// second node. Each answer earns half a hedge. If all nodes are overloaded, asking each question twice would make them
// slower; if one of two is slow, half of the answers earn enough.
type durations struct {
	mu    sync.Mutex
	last  [128]time.Duration
	n     int
	spent int // half hedges
}

// add records how long an answer took. Each call allows half a further hedge (spend), up to mostHedges in all.
func (d *durations) add(took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last[d.n%len(d.last)] = took
	d.n++
	d.spent = max(d.spent-1, 0)
}

// spend reports whether a request may be sent to a second node now, and counts it. It returns false if mostHedges were
// sent and too few answers have come since (add).
func (d *durations) spend() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.spent+2 > 2*mostHedges {
		return false
	}
	d.spent += 2
	return true
}

// hedge returns after how long without an answer a second node is asked: the time within which 95 of 100 answers came,
// leastHedge at least.
func (d *durations) hedge() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(leastHedge, d.most(firstHedge))
}

// most returns the time within which 95 of 100 of the last answers came, or assumed if fewer than enoughKept are
// known. The caller holds mu.
func (d *durations) most(assumed time.Duration) time.Duration {
	if d.n < enoughKept {
		return assumed
	}
	kept := slices.Clone(d.last[:min(d.n, len(d.last))])
	slices.Sort(kept)
	return kept[len(kept)*95/100]
}

// soon returns after how long without an answer to a look, a small request, a node counts as away: between
// answersSoon and awayFor, longer if all nodes are slow.
func (d *durations) soon() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return min(awayFor, max(answersSoon, 2*d.most(0)))
}

// operationOf returns the operation in a path, for metrics: msearch for _msearch; "index" if it has none.
func operationOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "_"); ok {
			return name
		}
	}
	return "index"
}

// The kinds of searches.
const (
	WholeIndex = "dfs_query_then_fetch"
	EachShard  = "query_then_fetch"
)

// endOf returns the second half of the header line of a search in an _msearch request, with a search type, WholeIndex
// or EachShard. The first half ends with a comma.
func endOf(searchType string) string { return `"search_type":"` + searchType + `"}` }

// EndOfShard returns the second half of the line that precedes a search in a request to _msearch, for a search in one
// shard only. shard is its number.
func EndOfShard(shard int) string { return `"preference":"_shards:` + strconv.Itoa(shard) + `"}` }

// ofOneShard matches EndOfShard at the end of a line.
var ofOneShard = regexp.MustCompile(`("preference":"_shards:[0-9]+)"}\n`)

// prefer returns the path and body of a request of an operation with a preference for the copies of some nodes
// (Client.preference); unchanged if preference is "" or the operation takes none. It does not change body.
func prefer(operation, path string, body []byte, preference string) (string, []byte) {
	if preference == "" || operation != "msearch" && operation != "mget" && operation != "termvectors" {
		return path, body
	}
	if operation == "msearch" {
		body = ofOneShard.ReplaceAll(body, []byte("${1}|"+preference+"\"}\n"))
		for _, kind := range []string{WholeIndex, EachShard} {
			end := endOf(kind)
			with := end[:len(end)-1] + `,"preference":"` + preference + `"}`
			body = bytes.ReplaceAll(body, []byte(end+"\n"), []byte(with+"\n"))
		}
		return path, body
	}
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	return path + separator + "preference=" + url.QueryEscape(preference), body
}

// canAskAnother reports whether another node may answer a request that failed with err.
func canAskAnother(err error) bool {
	var status *StatusError
	return !errors.As(err, &status) || status.Status >= 500 || status.Status == http.StatusTooManyRequests
}

// hedged sends a request that changes nothing to a node, and to further ones by these rules; it returns the first
// answer. operation is that of the path, for metrics (operationOf).
//
//  1. A node that fails is followed by another one at once.
//  2. After firstHedge without an answer, or earlier if most answers come earlier (durations.hedge), every node is
//     asked whether it is there and reaches the others (lookAll), and again after each further firstHedge.
//  3. If a look finds nodes away that were there when the request was sent, another request goes to a node that is
//     there, for copies of shards on such nodes. The first node may be asked again: a node that hangs delays the
//     others that ask it for its shards.
//  4. If a look comes after the time in which most answers come, another node is asked, too, as often as
//     durations.spend allows.
//  5. No node is asked twice for the same copies.
func (c *Client) hedged(ctx context.Context, operation, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx) // of those who are overtaken
	defer cancel()
	type outcome struct {
		answer []byte
		err    error
	}
	type question struct {
		n          *node
		preference string
	}
	nodes := c.order()
	outcomes := make(chan outcome, 2*len(nodes))
	asked := map[question]bool{}
	pending := 0
	d := &c.other
	switch operation {
	case "msearch":
		d = &c.searched
	case "mget":
		d = &c.read
	case "termvectors":
		d = &c.counted
	}
	var last question
	send := func() bool { // to a node that was not asked this
		slices.SortStableFunc(nodes, func(a, b *node) int { return a.rank() - b.rank() })
		preference := c.preference()
		for _, n := range nodes {
			q := question{n, preference}
			if asked[q] || len(asked) == cap(outcomes) {
				continue
			}
			asked[q], last = true, q
			pending++
			path, body := prefer(operation, path, body, preference)
			go func() {
				start := time.Now()
				answer, err := c.exchange(ctx, n, operation, method, path, body)
				if err == nil {
					d.add(time.Since(start))
				}
				outcomes <- outcome{answer, err}
			}()
			return true
		}
		return false
	}
	send()
	start := time.Now()
	most := d.hedge()
	slow := time.After(min(most, firstHedge))
	looked := make(chan struct{}, 1)
	for {
		select {
		case o := <-outcomes:
			pending--
			if o.err == nil || ctx.Err() != nil || !canAskAnother(o.err) {
				return o.answer, o.err
			}
			if !send() && pending == 0 {
				return nil, o.err
			}
		case <-slow:
			go func() { c.lookAll(); looked <- struct{}{} }()
		case <-looked:
			since := c.SomeAway() && (last.n.rank() > 0 || last.preference != c.preference())
			if since || time.Since(start) >= most && d.spend() {
				send()
			}
			slow = time.After(firstHedge)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// rank returns the order of the node among those to be asked: 0 if it answers, 1 if it is away or apart.
func (n *node) rank() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.away || n.apart {
		return 1
	}
	return 0
}

// exchange sends a request to one node and returns the answer. If the node does not answer, it marks it as away,
// unless ctx has ended. It reports the request to the observer, if there is one. A status other than 2xx is a
// *StatusError. operation is that of the path, for metrics (operationOf).
func (c *Client) exchange(ctx context.Context, n *node, operation, method, path string, body []byte) ([]byte, error) {
	start := time.Now()
	answer, err := c.ask(ctx, n, method, path, body)
	var status *StatusError
	outcome := "ok"
	switch {
	case err == nil:
	case ctx.Err() != nil:
		outcome = "overtaken"
		if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, errHangs) {
			outcome = "error"
		}
	default:
		outcome = "error"
		if !errors.As(err, &status) {
			n.markAway()
		}
	}
	if c.observe != nil {
		c.observe(Exchange{Node: n.url.Host, Operation: operation, Outcome: outcome, Took: time.Since(start)})
	}
	return answer, err
}
