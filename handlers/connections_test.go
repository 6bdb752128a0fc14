package handlers

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/conclave/handlers/schema"
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
	uploaded := make(chan received, 1)
	go func() {
		request, _ := http.NewRequest(http.MethodPost, "http://"+s.address+"/v1/passages", body)
		request.Header.Set("Content-Type", schema.TypeLines)
		response, err := s.client.Do(request)
		if err != nil {
			t.Error(err)
			close(uploaded)
			return
		}
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		uploaded <- received{response, text}
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
	s.until("connections are open", func() bool {
		open, _ := s.api.connections.Count(http.StateNew)
		return open == n
	})
}

// idle waits until so many are known to be idle: the answer is there before.
func (s *server) idle(t *testing.T, n int) {
	t.Helper()
	s.until("connections are idle", func() bool {
		_, idle := s.api.connections.Count(http.StateIdle)
		return idle == n
	})
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
