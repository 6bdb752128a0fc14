package handlers

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

const askLive = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"

// dial opens a connection.
func (s *server) dial() net.Conn { return s.drip("") }

// ask sends a request on a connection and reads the answer's head and body.
func askOn(t *testing.T, c net.Conn) (status int, err error) {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, askLive); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err
	}
	_, _ = io.ReadAll(response.Body)
	_ = response.Body.Close()
	return response.StatusCode, nil
}

// closed reports whether the server closed a connection.
func closed(c net.Conn) bool {
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	_, err := io.Copy(io.Discard, c)
	return err == nil || strings.Contains(err.Error(), "reset")
}

// pipes are connections of a set, made by hand.
type pipes struct {
	*testing.T
	all *connections
}

// connect makes a connection that has no place, and its caller's end.
func (p pipes) connect() (*connection, net.Conn) {
	p.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	far, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		p.Fatal(err)
	}
	near, err := listener.Accept()
	if err != nil {
		p.Fatal(err)
	}
	c := &connection{Conn: near, all: p.all}
	p.Cleanup(func() { _, _ = c.Close(), far.Close() })
	return c, far
}

// TestArrivedRequestsStay: a request that has arrived and was not read yet is no
// silence, neither on a new connection nor on one between two requests, and to close
// its connection would reset it.
func TestArrivedRequestsStay(t *testing.T) {
	p := pipes{t, newConnections(1)}
	p.all.most = 4
	enter := func(says string) *connection {
		c, far := p.connect()
		if ok, _ := p.all.enter(c); !ok {
			t.Fatal("there is no place")
		}
		if _, err := io.WriteString(far, says); err != nil {
			t.Fatal(err)
		}
		for says != "" && !c.arrived() {
			time.Sleep(time.Millisecond)
		}
		return c
	}
	asks, idle, silent := enter(askLive), enter(askLive), enter("")
	p.all.changed(idle, http.StateIdle)
	later := enter("") // the fourth
	for _, want := range []*connection{silent, later} {
		time.Sleep(2 * grace)
		newest := enter(askLive)
		for name, c := range map[string]*connection{"that asks": asks, "with its second request": idle,
			"that came last": newest} {
			if _, ok := p.all.open[c]; !ok {
				t.Errorf("the connection %s was given up", name)
			}
		}
		if _, ok := p.all.open[want]; ok {
			t.Error("the connection that has been silent the longest stays")
		}
	}
}

// TestNewConnectionsHaveTime: a new connection is not given up before its caller had
// time to send a request.
func TestNewConnectionsHaveTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newConnections(1)
		all.most = 2
		connect := func() *connection {
			near, far := net.Pipe()
			c := &connection{Conn: near, all: all}
			t.Cleanup(func() { _, _ = c.Close(), far.Close() })
			return c
		}
		enters := func(c *connection) bool {
			ok, _ := all.enter(c)
			return ok
		}
		first, asks, third, fourth := connect(), connect(), connect(), connect()
		if !enters(first) {
			t.Fatal("there is no place")
		}
		time.Sleep(grace / 2)
		if !enters(asks) || enters(third) {
			t.Error("two may be open, and the first is new")
		}
		time.Sleep(grace / 2)
		if !enters(third) {
			t.Error("the first has been silent for as long as may be")
		}
		all.changed(asks, http.StateActive)
		asks.change(func(time.Time) { asks.working = 1 })
		if enters(fourth) {
			t.Error("the third is new, and the second at work")
		}
		time.Sleep(grace)
		if !enters(fourth) {
			t.Error("the third has been silent for as long as may be")
		}
		if _, ok := all.open[asks]; !ok || len(all.open) != 2 {
			t.Errorf("who asks stays: %v; %d are open", ok, len(all.open))
		}
	})
}

// TestWaitingForCallers adds up by hand what a connection owes: time in which nothing is
// done for it, less that of the bytes that moved, at 100 a second.
func TestWaitingForCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newConnections(100)
		near, far := net.Pipe()
		c := &connection{Conn: near, all: all}
		t.Cleanup(func() { _, _ = c.Close(), far.Close() })
		owes := func(what string, want time.Duration) {
			t.Helper()
			all.locked(func() {
				late := c.late(time.Now())
				if late != want {
					t.Errorf("%s: owes %v, want %v", what, late, want)
				}
			})
		}
		time.Sleep(time.Hour)
		owes("silent", 0)
		all.changed(c, http.StateActive)
		time.Sleep(time.Hour)
		owes("of which nothing is read yet", 0)
		c.change(func(time.Time) { c.reading = true })
		time.Sleep(patience - 1)
		owes("not yet", 0)
		time.Sleep(time.Nanosecond)
		owes("for as long as patience", patience)
		done := func() { c.change(func(time.Time) { c.working-- }) }
		c.change(func(time.Time) { c.working++ })
		time.Sleep(time.Hour)
		owes("at work", 0)
		happened := c.waits()
		c.change(func(time.Time) { c.took(300) }) // three seconds' worth, of one that is owed
		time.Sleep(2 * time.Second)
		owes("two seconds for its answer to be taken", 2*time.Second)
		happened()
		c.change(func(time.Time) { c.sent(500) }) // three seconds ahead
		happened = c.waits()
		time.Sleep(5 * time.Second)
		owes("of its body, eight seconds but for six", 2*time.Second)
		happened()
		done()
		all.changed(c, http.StateIdle)
		time.Sleep(time.Hour)
		owes("between two requests", 0)
	})
}

// TestBodiesOfFrames: of the frames of HTTP/2 those with bodies count, in whatever pieces
// they are written.
func TestBodiesOfFrames(t *testing.T) {
	var b bytes.Buffer
	framer := http2.NewFramer(&b, nil)
	want := 0
	for i, n := range []int{0, 1, 100, 16384} {
		_ = framer.WritePing(true, [8]byte{})
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: make([]byte, n)})
		_ = framer.WriteData(1, i == 3, make([]byte, n))
		want += n
	}
	for _, size := range []int{1, 8, 9, 10, 4096, b.Len()} {
		var f frames
		got := 0
		for piece := range slices.Chunk(b.Bytes(), size) {
			got += f.bodies(piece)
		}
		if got != want {
			t.Errorf("pieces of %d: %d bytes, want %d", size, got, want)
		}
	}
}

// TestConnectionsGiveWay: the one that has said nothing goes first, then the one
// that has been idle between requests the longest; who has a request under way stays.
func TestConnectionsGiveWay(t *testing.T) {
	entered, release := make(chan struct{}, 8), make(chan struct{})
	timeouts := testTimeouts()
	timeouts.ReadHeaderTimeout = 20 * time.Second
	timeouts.Connections = 4
	s := start(t, Options{Engine: testEngine(t, engineOptions{before: gate(entered, release)})}, timeouts)
	busy := s.drip("GET /v1/search?q=bees&experts=wiki HTTP/1.1\r\nHost: localhost\r\n\r\n")
	<-entered
	silent := s.dial()
	s.connections(t, 2)
	var idle []net.Conn
	for range 2 {
		c := s.dial()
		if status, err := askOn(t, c); status != http.StatusOK {
			t.Fatal(status, err)
		}
		idle = append(idle, c)
		s.idle(t, len(idle))
	}
	for _, gone := range []net.Conn{silent, idle[0], idle[1]} {
		c := s.dial()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.WriteString(c, "GET /v1/search?q=bees&experts=wiki HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-entered
		if !closed(gone) {
			t.Error("another connection was given up")
		}
	}
	waiting := s.drip(askLive) // all four are at work
	close(release)
	for _, c := range []net.Conn{busy, waiting} {
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if response, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%v %v", response, err)
		}
	}
}

// TestSlowRequestsGiveWay: where all connections have a request under way, those
// whose bodies drip give way, and one whose body comes in as fast as it has to
// does not.
func TestSlowRequestsGiveWay(t *testing.T) {
	timeouts := testTimeouts()
	timeouts.ReadTimeout = 10 * time.Minute
	timeouts.Connections = 6
	s := startWriting(t, writingOptions{timeouts: []ServeOptions{timeouts}})
	body, send := io.Pipe()
	uploaded := make(chan reply, 1)
	go func() {
		request, _ := http.NewRequest(http.MethodPost, "http://"+s.address+"/v1/passages", body)
		request.Header.Set("Content-Type", typeLines)
		response, err := s.client.Do(request)
		if err != nil {
			t.Error(err)
			close(uploaded)
			return
		}
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		uploaded <- reply{response, text}
	}()
	stop, sent := make(chan struct{}), make(chan int)
	go func() {
		line := `{"id":"fast","text":"` + strings.Repeat("zebra ", 200) + "\"}\n"
		for n := 0; ; n++ {
			select {
			case <-stop:
				_ = send.Close()
				sent <- n
				return
			default:
				_, _ = io.WriteString(send, line)
				time.Sleep(50 * time.Millisecond)
			}
		}
	}()
	for i := range 5 {
		s.drip([]string{slowSearch, slowUpload}[i%2])
	}
	s.until("6 requests are under way", func() bool { return s.api.running.Load() >= 6 })
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	var open []net.Conn
	for range 5 { // each waits for one that drips to be known as slow
		c := s.dial()
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(c, slowSearch); err != nil {
			t.Error(err)
		}
		open = append(open, c)
	}
	response, err := client.Get("http://" + s.address + "/v1/search?q=bees")
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response, err)
	}
	_ = response.Body.Close()
	for _, c := range open {
		_ = c.Close()
	}
	close(stop)
	n := <-sent
	if r := <-uploaded; r.Response == nil || r.StatusCode != http.StatusOK || strings.Count(string(r.body), "\n") != n {
		t.Errorf("the upload of %d lines: %.500s", n, r.body)
	}
}

// connections waits until so many are open.
func (s *server) connections(t *testing.T, n int) {
	t.Helper()
	for {
		s.api.connections.mu.Lock()
		open := len(s.api.connections.open)
		s.api.connections.mu.Unlock()
		if open == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// idle waits until so many are known to be idle: the answer is there before.
func (s *server) idle(t *testing.T, n int) {
	t.Helper()
	for {
		s.api.connections.mu.Lock()
		idle := 0
		for c := range s.api.connections.open {
			if c.state == http.StateIdle {
				idle++
			}
		}
		s.api.connections.mu.Unlock()
		if idle == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// TestConnectionFlood opens and closes idle connections, five times as many as
// may be open, while requests are answered; and what it did can be read.
func TestConnectionFlood(t *testing.T) {
	timeouts := testTimeouts()
	timeouts.Connections = 20
	s := start(t, Options{}, timeouts)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		var open []net.Conn
		for {
			select {
			case <-stop:
				for _, c := range open {
					_ = c.Close()
				}
				return
			default:
			}
			c, err := net.Dial("tcp", s.address)
			time.Sleep(100 * time.Microsecond)
			if err == nil {
				open = append(open, c)
			}
			if len(open) == 100 {
				_ = open[0].Close()
				open = open[1:]
			}
		}
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	answered := 0
	for range 50 {
		response, err := client.Get("http://" + s.address + "/v1/search?q=bees&k=1")
		if err != nil {
			t.Log(err)
			continue
		}
		_ = response.Body.Close()
		answered++
	}
	close(stop)
	<-stopped
	if answered < 40 {
		t.Errorf("%d of 50 were answered", answered)
	}
	metrics := string(s.send(http.MethodGet, "/metrics", "").body)
	if !strings.Contains(metrics, "conclave_connections_limit 20") ||
		!strings.Contains(metrics, `conclave_connections_given_up_total{state="new"}`) {
		t.Errorf("%.3000s", metrics)
	}
}
