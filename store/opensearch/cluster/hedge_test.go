package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// acting is a node that does as it is told, and counts what it is asked.
type acting struct {
	name     string
	asked    atomic.Int64
	bodies   sync.Map // of what it was asked
	hangs    atomic.Bool
	statuses atomic.Int64 // of its answers; 0: 200
	// apart is the ID of the node that the others do not reach; "": all reach each other. It may be this one.
	apart atomic.Pointer[string]
}

func (a *acting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if a.hangs.Load() {
		<-r.Context().Done()
		return
	}
	if strings.HasPrefix(r.URL.Path, "/_nodes/_local") {
		_, _ = fmt.Fprintf(w, `{"nodes":{"id-%s":{"name":"x"}}}`, a.name)
		return
	}
	apart := a.apart.Load()
	if strings.HasPrefix(r.URL.Path, "/_nodes/_all") {
		reached := 3
		if apart != nil && *apart == "id-"+a.name {
			reached = 1
		} else if apart != nil {
			reached = 2
		}
		_, _ = fmt.Fprintf(w, `{"_nodes":{"total":3,"successful":%d,"failed":%d}}`, reached, 3-reached)
		return
	}
	if of, copies, _ := strings.Cut(string(body), "_prefer_nodes:"); apart != nil &&
		(of == string(body) || strings.Contains(copies, *apart) || *apart == "id-"+a.name) {
		<-r.Context().Done() // for the shards on the other side
		return
	}
	a.asked.Add(1)
	a.bodies.Store(r.URL.String()+string(body), true)
	if status := a.statuses.Load(); status != 0 {
		w.WriteHeader(int(status))
	}
	_, _ = io.WriteString(w, a.name)
}

// cast returns a client of three nodes, and what it observed.
func cast(t *testing.T) (client *Client, nodes []*acting, seen func(node int, outcome string) int) {
	t.Helper()
	var mu sync.Mutex
	counts := map[string]int{}
	var urls []*url.URL
	for i := range 3 {
		a := &acting{name: fmt.Sprint(i)}
		server := httptest.NewServer(a)
		t.Cleanup(server.CloseClientConnections) // what hangs
		u, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		nodes, urls = append(nodes, a), append(urls, u)
	}
	client, err := NewClient(urls, Access{})
	if err != nil {
		t.Fatal(err)
	}
	client.Observe(func(e Exchange) {
		mu.Lock()
		defer mu.Unlock()
		counts[e.Node+" "+e.Operation+" "+e.Outcome]++
	})
	return client, nodes, func(node int, outcome string) int {
		mu.Lock()
		defer mu.Unlock()
		return counts[urls[node].Host+" msearch "+outcome]
	}
}

var oneSearch = `{"index":"x",` + endOf(WholeIndex) + "\n{}\n"

// TestHedged: a node that hangs is overtaken by another one, and then left alone: searches
// go to the others and prefer their copies, until it answers again.
func TestHedged(t *testing.T) {
	client, nodes, seen := cast(t)
	nodes[1].hangs.Store(true)
	for range 12 {
		if answer, err := client.Do(t.Context(), "POST", "/_msearch", []byte(oneSearch)); err != nil ||
			string(answer) == "1" {
			t.Fatalf("%q, %v", answer, err)
		}
	}
	if nodes[1].asked.Load() != 0 || nodes[0].asked.Load()+nodes[2].asked.Load() != 12 {
		t.Errorf("asked: %d, %d, %d", nodes[0].asked.Load(), nodes[1].asked.Load(), nodes[2].asked.Load())
	}
	with := strings.Replace(oneSearch, `then_fetch"}`, `then_fetch","preference":"_prefer_nodes:id-0,id-2"}`, 1)
	if _, ok := nodes[0].bodies.Load("/_msearch" + with); !ok {
		t.Error("searches do not prefer the copies of nodes that are there")
	}
	// It was asked once. Who was overtaken ends when it is told to, a moment later.
	for end := time.Now().Add(10 * time.Second); seen(1, "overtaken") != 1; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("overtaken: %d times", seen(1, "overtaken"))
		}
	}
	nodes[1].hangs.Store(false)
	for end := time.Now().Add(30 * time.Second); nodes[1].asked.Load() == 0; time.Sleep(10 * time.Millisecond) {
		if _, err := client.Do(t.Context(), "POST", "/_msearch", []byte(oneSearch)); err != nil || time.Now().After(end) {
			t.Fatalf("it is not asked again: %v", err)
		}
	}
	if client.preference() != "" {
		t.Errorf("all nodes are there, and searches prefer %s", client.preference())
	}
}

// TestApart: a node that answers, and that the others of the cluster do not reach, is left out like one that hangs,
// until it reaches them again. Nothing but that tells it from the others: each search that has a part on either side
// hangs, whoever is asked.
func TestApart(t *testing.T) {
	client, nodes, _ := cast(t)
	of := "id-1"
	for _, n := range nodes {
		n.apart.Store(&of)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for range 12 {
		if answer, err := client.Do(ctx, "POST", "/_msearch", []byte(oneSearch)); err != nil || string(answer) == "1" {
			t.Fatalf("%q, %v", answer, err)
		}
	}
	if got := client.preference(); got != "_prefer_nodes:id-0,id-2" || client.Settled() {
		t.Errorf("preferred are %q, settled: %t", got, client.Settled())
	}
	for _, n := range nodes {
		n.apart.Store(nil)
	}
	for end := time.Now().Add(30 * time.Second); client.preference() != ""; time.Sleep(10 * time.Millisecond) {
		if _, err := client.Do(ctx, "POST", "/_msearch", []byte(oneSearch)); err != nil || time.Now().After(end) {
			t.Fatalf("they reach each other, and searches prefer %s: %v", client.preference(), err)
		}
	}
}

// TestElsewhere: what one node cannot do another one is asked for at once, also where it
// is an _mget; what no node can do is the error of the last; what is wrong is asked of one.
func TestElsewhere(t *testing.T) {
	client, nodes, _ := cast(t)
	for _, status := range []int64{503, 429} {
		nodes[0].statuses.Store(status)
		nodes[1].statuses.Store(status)
		for range 3 {
			for _, path := range []string{"/_msearch", "/x/_mget?_source=false"} {
				if answer, err := client.Do(t.Context(), "POST", path, nil); err != nil || string(answer) != "2" {
					t.Errorf("status %d: %q, %v", status, answer, err)
				}
			}
		}
	}
	nodes[2].statuses.Store(503)
	if answer, err := client.Do(t.Context(), "POST", "/_msearch", nil); err == nil {
		t.Errorf("no node answers: %q", answer)
	}
	for _, n := range nodes {
		n.statuses.Store(400)
		n.asked.Store(0)
	}
	if _, err := client.Do(t.Context(), "POST", "/_msearch", nil); !IsStatus(err, 400) {
		t.Errorf("%v", err)
	}
	if n := nodes[0].asked.Load() + nodes[1].asked.Load() + nodes[2].asked.Load(); n != 1 {
		t.Errorf("what is wrong was asked %d times", n)
	}
	// Where all hang, the deadline ends it.
	for _, n := range nodes {
		n.hangs.Store(true)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := client.Do(ctx, "POST", "/_msearch", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("all hang: %v", err)
	}
}

// TestHedgeDelay: until some answers are known another node is asked after 200 ms, then
// later than 95 of 100 answers came.
func TestHedgeDelay(t *testing.T) {
	var d durations
	for i := range 300 {
		if got := d.hedge(); i < enoughKept && got != firstHedge {
			t.Fatalf("after %d answers: %v", i, got)
		}
		d.add(time.Duration(1+i%100) * time.Millisecond)
	}
	// The last 128 are 73 to 100 and 1 to 100 ms; the greatest 7 of them are 97 to 100,
	// with 98 to 100 twice.
	if got := d.hedge(); got != 97*time.Millisecond {
		t.Errorf("%v", got)
	}
	for range 128 {
		d.add(time.Microsecond)
	}
	if got := d.hedge(); got != leastHedge {
		t.Errorf("%v", got)
	}
}

// TestHedgesAreEarned: some are in hand, and each further one takes two answers.
func TestHedgesAreEarned(t *testing.T) {
	var d durations
	spend := func() (n int) {
		for d.spend() {
			n++
		}
		return n
	}
	if n := spend(); n != mostHedges {
		t.Errorf("%d in hand, not %d", n, mostHedges)
	}
	for answers, want := range map[int]int{1: 0, 2: 1, 9: 4} {
		d.spent = 2 * mostHedges
		for range answers {
			d.add(time.Second)
		}
		if n := spend(); n != want {
			t.Errorf("%d answers earn %d, not %d", answers, n, want)
		}
	}
	for range 1000 {
		d.add(time.Second)
	}
	if n := spend(); n != mostHedges {
		t.Errorf("after a long time %d are in hand, not %d", n, mostHedges)
	}
}

// TestAwayIsRelative: where every node takes its time for a question without work, one that
// does is not away.
func TestAwayIsRelative(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{time.Millisecond: answersSoon,
		300 * time.Millisecond: 600 * time.Millisecond, 2 * time.Second: awayFor} {
		var d durations
		for range enoughKept {
			if got := d.soon(); got != answersSoon {
				t.Errorf("before enough is known: %v", got)
			}
			d.add(took)
		}
		if got := d.soon(); got != want {
			t.Errorf("where it takes %v: %v, not %v", took, got, want)
		}
	}
}

// TestNoNode: where nobody listens the error says so.
func TestNoNode(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := &url.URL{Scheme: "http", Host: listener.Addr().String()}
	_ = listener.Close()
	client, err := NewClient([]*url.URL{u}, Access{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/_msearch", "/x/_bulk"} {
		var dial *net.OpError
		if _, err := client.Do(t.Context(), "POST", path, nil); !errors.As(err, &dial) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
