package handlers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"golang.org/x/sys/unix"
)

// attack is what one caller does on its connection until that is closed. It reads
// nothing, unless it says so.
type attack func(c net.Conn)

// drips sends a text, and then one byte after another.
func drips(text string) attack {
	return func(c net.Conn) {
		_, err := io.WriteString(c, text)
		for ; err == nil; time.Sleep(50 * time.Millisecond) {
			_, err = c.Write([]byte("x"))
		}
	}
}

// repeats sends the same request again and again.
func repeats(request string) attack {
	return func(c net.Conn) {
		for err := error(nil); err == nil; {
			_, err = io.WriteString(c, request)
		}
	}
}

// once sends something, and then nothing until the connection is closed.
func once(text string) attack {
	return func(c net.Conn) {
		_, _ = io.WriteString(c, text)
		_, _ = io.Copy(io.Discard, c)
	}
}

// frames2 begins a connection of HTTP/2 whose streams have a window of some bytes.
func frames2(c net.Conn, window uint32) *http2.Framer {
	_, _ = io.WriteString(c, http2.ClientPreface)
	f := http2.NewFramer(c, c)
	_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
	_ = f.WriteSettingsAck()
	if window > 0 {
		_ = f.WriteWindowUpdate(0, 1<<30)
	}
	return f
}

// block returns a request's header as HTTP/2 sends it, compressed by HPACK. more has the names and values of further
// fields in turn.
func block(method, path string, more ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	fields := append([]string{":method", method, ":scheme", "http", ":authority", "localhost", ":path", path}, more...)
	for i := 0; i < len(fields); i += 2 {
		_ = e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return b.Bytes()
}

// asks2 asks for a path on as many streams as may be open. It reads the connection where
// the window keeps the answers back, and sends pings all the time.
func asks2(window uint32, path string) attack {
	return func(c net.Conn) {
		f := frames2(c, window)
		if window == 0 {
			go func() { _, _ = io.Copy(io.Discard, c) }()
		}
		for id := uint32(1); id < 400; id += 2 {
			_ = f.WriteHeaders(
				http2.HeadersFrameParam{StreamID: id, BlockFragment: block("GET", path), EndStream: true, EndHeaders: true},
			)
		}
		for err := error(nil); err == nil; time.Sleep(50 * time.Millisecond) {
			err = f.WritePing(false, [8]byte{})
		}
	}
}

// body2 sends a body that does not end: it stands still, or drips.
func body2(dripping bool) attack {
	return func(c net.Conn) {
		f := frames2(c, 1<<20)
		go func() { _, _ = io.Copy(io.Discard, c) }()
		_ = f.WriteHeaders(
			http2.HeadersFrameParam{
				StreamID:      1,
				BlockFragment: block("POST", "/v1/search", "content-type", "application/json"),
				EndHeaders:    true,
			},
		)
		err := f.WriteData(1, false, []byte(`{"question":"`))
		for ; err == nil; time.Sleep(50 * time.Millisecond) {
			if dripping {
				err = f.WriteData(1, false, []byte("x"))
			} else {
				err = f.WritePing(false, [8]byte{})
			}
		}
	}
}

// header2 begins a header that does not end: it stands still, or goes on for ever.
func header2(dripping bool) attack {
	return func(c net.Conn) {
		f := frames2(c, 1<<20)
		go func() { _, _ = io.Copy(io.Discard, c) }()
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block("GET", "/livez")})
		for err := error(nil); err == nil; time.Sleep(50 * time.Millisecond) {
			if dripping {
				err = f.WriteContinuation(1, false, []byte{0x40, 1, 'a', 1, 'b'})
			} else {
				_, err = c.Write(nil)
			}
		}
	}
}

const get = "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"

var attacks = map[string]attack{
	"silence":         once(""),
	"header":          once("GET /v1/search?q=bees HTTP/1.1\r\nHost: loc"),
	"dripping header": drips("GET /v1/search?q=bees HTTP/1.1\r\nHost: loc"),
	"body":            once(slowSearch),
	"endless body": drips(
		strings.Replace(slowSearch, "Content-Length: 1000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nfffff\r\n", 1),
	),
	"endless upload":     drips(slowUpload),
	"answers":            repeats(fmt.Sprintf(get, "/v1/search?q=bees&k=100")),
	"pages":              repeats(fmt.Sprintf(get, "/docs/docs.js")),
	"errors":             repeats(fmt.Sprintf(get, "/nowhere")),
	"lists":              repeats(fmt.Sprintf(get, "/openapi.json")),
	"2: silence":         func(c net.Conn) { frames2(c, 0); _, _ = io.Copy(io.Discard, c) },
	"2: header":          header2(false),
	"2: dripping header": header2(true),
	"2: body":            body2(false),
	"2: endless body":    body2(true),
	"2: answers":         asks2(1<<30, "/v1/search?q=bees&k=100"),
	"2: pages":           asks2(1<<30, "/docs/docs.js"),
	"2: errors":          asks2(1<<30, "/nowhere"),
	"2: window 0":        asks2(0, "/docs/docs.js"),
	"2: window 0 errors": asks2(0, "/nowhere"),
}

// shortAttacks are those of a short run: one of each way to keep a place, by what comes in
// and by what is not taken, of both versions of HTTP.
var shortAttacks = []string{
	"silence",
	"dripping header",
	"body",
	"pages",
	"2: header",
	"2: endless body",
	"2: window 0",
}

// TestUnread: half as many callers again as there are places do something that does not
// end, and begin anew where their connection is closed. Health checks and searches are
// answered all the same. The server's own time limits are too long to help.
func TestUnread(t *testing.T) {
	names := slices.Sorted(maps.Keys(attacks))
	if testing.Short() {
		names = shortAttacks
	}
	some := make(chan struct{}, 4) // side by side, since each waits most of the time
	var running sync.WaitGroup
	defer running.Wait()
	for _, name := range names {
		attack := attacks[name]
		running.Go(func() {
			some <- struct{}{}
			defer func() { <-some }()
			t.Run(name, func(t *testing.T) { withstand(t, attack) })
		})
	}
}

// takesLittle has the system keep little of what comes on a connection and is not read, so
// that a caller who reads nothing keeps the server waiting after few answers.
func takesLittle(_, _ string, raw syscall.RawConn) (err error) {
	if failed := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<10)
	}); failed != nil {
		return failed
	}
	return err
}

func withstand(t *testing.T, attack attack) {
	const places = 8
	s := startWriting(t, writingOptions{timeouts: []ServeOptions{{
		Connections: places, Waiting: 64, Probes: 4, HeaderBytes: 8 << 10, ReadHeaderTimeout: time.Hour,
		ReadTimeout: time.Hour, WriteTimeout: time.Hour, IdleTimeout: time.Hour,
		DrainTimeout: 20 * time.Second,
	}}})
	dialer := net.Dialer{Control: takesLittle}
	stop := make(chan struct{})
	var callers sync.WaitGroup
	defer callers.Wait()
	defer close(stop)
	for range places * 3 / 2 {
		callers.Go(func() {
			for {
				c, err := dialer.DialContext(t.Context(), "tcp", s.address)
				if err != nil {
					return
				}
				done := make(chan struct{})
				go func() {
					defer close(done)
					attack(c)
				}()
				select {
				case <-done:
					_ = c.Close()
				case <-stop:
					_ = c.Close()
					<-done
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	s.until("all places are taken", func() bool {
		n := 0
		n, _ = s.api.connections.Count(http.StateNew)
		return n == places
	})
	client := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true},
		Timeout:   5 * time.Minute,
	} // no answer at all would be the end
	for _, path := range []string{"/livez", "/metrics", "/readyz", "/v1/search?q=bees&k=1", "/v1/search?q=bees&k=1"} {
		response, err := client.Get("http://" + s.address + path)
		// On a busy machine this process may not have run for as long as patience, and the server may have so many
		// of the attack's requests to answer that it asks a caller to come again.
		for again := 0; again < 10 && (errors.Is(err, io.EOF) || err == nil && asksToRetry(response)); again++ {
			response, err = client.Get("http://" + s.address + path)
		}
		if err != nil {
			t.Fatal(path, err)
		}
		if body, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %v %.500s", path, response.StatusCode, err, body)
		}
		_ = response.Body.Close()
	}
}

// asksToRetry reports whether a response is a 429 that says when to come again. It then closes the response's body and
// waits for as long.
func asksToRetry(response *http.Response) bool {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if response.StatusCode != http.StatusTooManyRequests || err != nil {
		return false
	}
	_ = response.Body.Close()
	time.Sleep(time.Duration(seconds) * time.Second)
	return true
}
