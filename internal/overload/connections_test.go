package overload

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

const ask = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"

// pipes are connections of a set, made by hand.
type pipes struct {
	*testing.T
	all *Connections
}

// connect returns a new connection without a place, and the client's end of it. Both are closed with the test.
func (p pipes) connect() (*Connection, net.Conn) {
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
	c := &Connection{Conn: near, all: p.all}
	p.Cleanup(func() { _, _ = c.Close(), far.Close() })
	return c, far
}

// TestArrivedRequestsStay: a request that has arrived and was not read yet is no
// silence, neither on a new connection nor on one between two requests, and to close
// its connection would reset it.
func TestArrivedRequestsStay(t *testing.T) {
	p := pipes{t, NewConnections(1)}
	p.all.most = 4
	enter := func(says string) *Connection {
		c, far := p.connect()
		if ok, _ := p.all.admitConnection(c); !ok {
			t.Fatal("there is no place")
		}
		if _, err := io.WriteString(far, says); err != nil {
			t.Fatal(err)
		}
		for says != "" && !c.hasUnread() {
			time.Sleep(time.Millisecond)
		}
		return c
	}
	asks, idle, silent := enter(ask), enter(ask), enter("")
	p.all.Changed(idle, http.StateIdle)
	later := enter("") // the fourth
	for _, want := range []*Connection{silent, later} {
		time.Sleep(2 * grace)
		newest := enter(ask)
		for name, c := range map[string]*Connection{"that asks": asks, "with its second request": idle,
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
		all := NewConnections(1)
		all.most = 2
		connect := func() *Connection {
			near, far := net.Pipe()
			c := &Connection{Conn: near, all: all}
			t.Cleanup(func() { _, _ = c.Close(), far.Close() })
			return c
		}
		enters := func(c *Connection) bool {
			ok, _ := all.admitConnection(c)
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
		all.Changed(asks, http.StateActive)
		asks.changeClock(func(time.Time) { asks.working = 1 })
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
		all := NewConnections(100)
		near, far := net.Pipe()
		c := &Connection{Conn: near, all: all}
		t.Cleanup(func() { _, _ = c.Close(), far.Close() })
		owes := func(what string, want time.Duration) {
			t.Helper()
			all.withLock(func() {
				late := c.overdueTime(time.Now())
				if late != want {
					t.Errorf("%s: owes %v, want %v", what, late, want)
				}
			})
		}
		time.Sleep(time.Hour)
		owes("silent", 0)
		all.Changed(c, http.StateActive)
		time.Sleep(time.Hour)
		owes("of which nothing is read yet", 0)
		c.changeClock(func(time.Time) { c.reading = true })
		time.Sleep(patience - 1)
		owes("not yet", 0)
		time.Sleep(time.Nanosecond)
		owes("for as long as patience", patience)
		done := func() { c.changeClock(func(time.Time) { c.working-- }) }
		c.changeClock(func(time.Time) { c.working++ })
		time.Sleep(time.Hour)
		owes("at work", 0)
		happened := c.awaitCaller()
		c.changeClock(func(time.Time) { c.creditTaken(300) }) // three seconds' worth, of one that is owed
		time.Sleep(2 * time.Second)
		owes("two seconds for its answer to be taken", 2*time.Second)
		happened()
		c.changeClock(func(time.Time) { c.creditSent(500) }) // three seconds ahead
		happened = c.awaitCaller()
		time.Sleep(5 * time.Second)
		owes("of its body, eight seconds but for six", 2*time.Second)
		happened()
		done()
		all.Changed(c, http.StateIdle)
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
			got += f.bodyBytes(piece)
		}
		if got != want {
			t.Errorf("pieces of %d: %d bytes, want %d", size, got, want)
		}
	}
}
