package handlers

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/conclave/handlers/schema"
)

// drip opens a connection that sends the beginning of a request, and then
// nothing.
func (s *server) drip(beginning string) net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, beginning); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// until waits for what will be so soon, unless there is a defect.
func (s *server) until(what string, so func() bool) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("not within a minute: %s", what)
		}
	}
}

func (s *server) untilIdle() {
	s.t.Helper()
	s.until("no request is under way", func() bool { return s.api.running.Load() == 0 })
}

const (
	slowSearch = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{\"question\":"
	slowUpload = "POST /v1/passages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n\r\n{\"id\":\"slow\",\"te"
)

// TestSlowBodies: hundreds that send their bodies by drops, and as many uploads
// as may store at once, take nothing from the others.
func TestSlowBodies(t *testing.T) {
	timeouts := testTimeouts()
	timeouts.ReadTimeout = 5 * time.Minute // all of them are open at once on a busy machine, too
	s := startWriting(
		t,
		writingOptions{
			Options:  Options{Admission: admit(t, 2), Write: WriteLimits{Uploads: 2}},
			timeouts: []ServeOptions{timeouts},
		},
	)
	for range 300 {
		s.drip(slowSearch)
	}
	for range 4 {
		s.drip(slowUpload)
	}
	s.until("304 requests are under way", func() bool { return s.api.running.Load() >= 304 })
	for i := range 20 {
		if r := s.post("/v1/search", `{"question":"beginning"}`); r.StatusCode != http.StatusOK {
			t.Fatalf("search %d: %d %s", i, r.StatusCode, r.body)
		}
		if r, _, _ := s.upload("/v1/passages", fmt.Sprintf("{\"id\":\"u%d\",\"text\":\"zebra\"}\n",
			i)); r.StatusCode != http.StatusOK {
			t.Fatalf("upload %d: %d %s", i, r.StatusCode, r.body)
		}
	}
}

// TestSlowUpload: an upload that goes on, but more slowly than it has to, ends
// after its time of grace, with a problem and the answers to what came whole.
func TestSlowUpload(t *testing.T) {
	timeouts := testTimeouts()
	timeouts.ReadTimeout = 20 * time.Second
	s := startWriting(
		t,
		writingOptions{
			Options:  Options{Write: WriteLimits{Grace: 300 * time.Millisecond, BytesASecond: 1 << 20}},
			timeouts: []ServeOptions{timeouts},
		},
	)
	c := s.drip(slowUpload + "xt\":\"zebra\"}\n")
	_ = c.SetDeadline(time.Now().Add(15 * time.Second))
	go func() {
		for {
			if _, err := io.WriteString(c, "x"); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	out, _ := io.ReadAll(c)
	if text := string(out); !strings.Contains(text, `"id":"slow","status":"created"`) ||
		!strings.Contains(text, `"code":"slow_request"`) {
		t.Errorf("%.2000s", text)
	}
}

// TestUploadsUnderWay: one more than one caller may have under way, three quarters of all, is told to come back.
func TestUploadsUnderWay(t *testing.T) {
	timeouts := testTimeouts()
	timeouts.ReadTimeout = 20 * time.Second
	s := startWriting(
		t, writingOptions{Options: Options{Write: WriteLimits{Uploads: 1}}, timeouts: []ServeOptions{timeouts}},
	)
	// The server says 100 Continue to an upload that it has begun to read.
	const reads = "HTTP/1.1 100 Continue\r\n\r\n"
	var open []net.Conn
	for range openUploads * 3 / 4 {
		c := s.drip(strings.Replace(slowUpload, "\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n", 1))
		said := make([]byte, len(reads))
		if _, err := io.ReadFull(c, said); err != nil || string(said) != reads {
			t.Fatalf("%q, %v", said, err)
		}
		open = append(open, c)
	}
	if r := s.send(http.MethodPost, "/v1/passages", `{"id":"b","text":"x"}`, "Content-Type",
		schema.TypeLines); r.StatusCode != http.StatusTooManyRequests ||
		r.Header.Get("Retry-After") == "" {
		t.Errorf("one more: %d", r.StatusCode)
	}
	for _, c := range open {
		_ = c.Close()
	}
	s.untilIdle()
	if r, _, _ := s.upload("/v1/passages", `{"id":"b","text":"x"}`); r.StatusCode != http.StatusOK {
		t.Errorf("after the others: %d", r.StatusCode)
	}
}
