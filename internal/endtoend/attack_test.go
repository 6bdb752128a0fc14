package endtoend

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// The tests of this file do to a server, a process of its own with its default limits, what
// callers did that took it from all others. make attack runs them, with those of the
// packages that each defends itself in.

// attackLines returns passages, one of which costs most to answer with.
func attackLines() string {
	quotes, _ := json.Marshal(strings.Repeat(`"`, 250_000))
	return `{"id":"first","text":"an old lighthouse"}` + "\n" + fmt.Sprintf(`{"id":"quotes","text":%s}`, quotes) + "\n" +
		`{"id":"linked","text":"a link that runs","metadata":{"url":"javascript:alert(1)"}}` + "\n"
}

// attackKeys are a server's keys: one that searches, one that writes.
const attackKeys = `auth:
  keys:
    - {name: searcher, sha256: 2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683, scopes: [search]}
    - {name: owner, sha256: 4c1029697ee358715d3a14a2add817c4b01651440de808371f78165ac90dc581, scopes: [admin]}
`

// The keys' texts are "key" and "owner": printf %s key | sha256sum.
const searcherKey, ownerKey = "key", "owner"

// ask sends a request with a key over a connection of its own.
func (p *process) ask(method, path, key, body string, header ...string) (int, []byte, error) {
	request, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if key != "" {
		request.Header.Set("X-API-Key", key)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}).Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, text, err
}

// flood opens more connections than may be, each of which does something that does not end
// and reads nothing, without a key.
func flood(t *testing.T, address string, n int, window0 bool) {
	t.Helper()
	var header bytes.Buffer
	e := hpack.NewEncoder(&header)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "localhost"}, {":path", "/docs/docs.js"}} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	requests := strings.Repeat(
		"GET /docs/docs.js HTTP/1.1\r\nHost: localhost\r\n\r\nGET /v1/limits HTTP/1.1\r\nHost: localhost\r\n\r\n", 40,
	)
	var opening sync.WaitGroup
	next := make(chan struct{}, n)
	for range n {
		next <- struct{}{}
	}
	close(next)
	for range 32 {
		opening.Go(func() {
			for range next {
				c, err := net.DialTimeout("tcp", address, 10*time.Second)
				if err != nil {
					continue
				}
				t.Cleanup(func() { _ = c.Close() })
				_ = c.(*net.TCPConn).SetReadBuffer(4096)
				_ = c.SetWriteDeadline(time.Now().Add(time.Second))
				if !window0 {
					_, _ = io.WriteString(c, requests)
					continue
				}
				_, _ = io.WriteString(c, http2.ClientPreface)
				f := http2.NewFramer(c, c)
				_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
				_ = f.WriteHeaders(
					http2.HeadersFrameParam{StreamID: 1, BlockFragment: header.Bytes(), EndStream: true, EndHeaders: true},
				)
			}
		})
	}
	opening.Wait()
}

// TestAttackConnections: 80 connections that read nothing on a bound of 64, of either
// protocol, and 4,300 on the default with a window of 0 keep neither health checks nor searches from being answered.
func TestAttackConnections(t *testing.T) {
	for _, c := range []struct {
		connections, flood int
		window0            bool
	}{{64, 80, false}, {64, 80, true}, {0, 4300, true}} {
		t.Run(fmt.Sprintf("%d of %d, window 0: %v", c.flood, c.connections, c.window0), func(t *testing.T) {
			s := newSite(
				t,
				fmt.Sprintf("server: {connections: %d}\nlog: {level: error}\n%s", c.connections, attackKeys),
				nil,
				"none",
				attackLines(),
			)
			p := s.serve("")
			flood(t, strings.TrimPrefix(p.url, "http://"), c.flood, c.window0)
			for _, path := range []string{"/livez", "/readyz", "/metrics", "/v1/search?q=lighthouse"} {
				key := searcherKey
				if path == "/metrics" {
					key = ownerKey
				}
				if status, text, err := p.ask(http.MethodGet, path, key, ""); err != nil || status != http.StatusOK {
					t.Errorf("%s: %d %.200s %v", path, status, text, err)
				}
			}
		})
	}
}

// TestAttackUploads: small bodies that hold much cost little, are answered little, and end
// with their senders.
func TestAttackUploads(t *testing.T) {
	s := newSite(t, "log: {level: error}\n"+attackKeys, nil, "none", attackLines())
	p := s.serve("")
	pack := func(line string, bytes int) string {
		var b strings.Builder
		z := gzip.NewWriter(&b)
		block := strings.Repeat(line, 1<<20/len(line))
		for range bytes / len(block) {
			_, _ = io.WriteString(z, block)
		}
		_ = z.Close()
		return b.String()
	}
	const head = "Content-Type: application/x-ndjson\r\nContent-Encoding: gzip\r\n"
	status, answer, err := p.ask(
		http.MethodPost,
		"/v1/passages",
		ownerKey,
		pack("{}\n", 3<<20),
		"Content-Type",
		"application/x-ndjson",
		"Content-Encoding",
		"gzip",
	)
	if err != nil || len(answer) > 8<<20 || !bytes.Contains(answer, []byte("too_many_rejected")) {
		t.Errorf("{} lines: %d, %d bytes of answer, %v", status, len(answer), err)
	}
	blank := pack("\n", 256<<20)
	status, answer, err = p.ask(
		http.MethodPost,
		"/v1/passages",
		ownerKey,
		blank,
		"Content-Type",
		"application/x-ndjson",
		"Content-Encoding",
		"gzip",
	)
	if err != nil || status != http.StatusOK || len(answer) > 0 {
		t.Errorf("blank lines: %d %.200s %v", status, answer, err)
	}
	// Thirty that leave: half of them have sent all, half of them a part.
	lines := pack(`{"id":"a","text":"zebra"}`+"\n", 32<<20)
	for i := range 30 {
		c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(
			c,
			"POST /v1/passages HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\n%sContent-Length: %d\r\n\r\n%s",
			ownerKey,
			head,
			len(lines),
			lines[:len(lines)/(1+i%2)],
		)
		_ = c.Close()
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		_, text, err := p.ask(http.MethodGet, "/metrics", ownerKey, "")
		if err == nil && bytes.Contains(text, []byte("conclave_http_requests_in_flight 1\n")) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("uploads go on whose senders have left: %v", err)
		}
	}
}

// TestAttackRequests: lists of calls, names that are options, ids that are steps, links that
// run, times that tell, and bodies with two ends.
func TestAttackRequests(t *testing.T) {
	s := newSite(t, "log: {level: error}\nlimits: {memory: 420MiB}\n"+attackKeys, nil, "none", attackLines())
	p := s.serve("")
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","arguments":{"id":"quotes"}}}`
	before := p.resident()
	status, answer, err := p.ask(
		http.MethodPost,
		"/mcp",
		searcherKey,
		"["+strings.Repeat(call+",", 3000)+call+"]",
		"Accept",
		"application/json, text/event-stream",
	)
	// A refused body is not read to its end, so the connection may break before the refusal is read.
	broken := errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
	if err != nil && !broken || err == nil && (status < 400 || status > 499) {
		t.Errorf("a list at /mcp: %d %.200s %v", status, answer, err)
	}
	if grown := p.resident() - before; grown > 64<<20 {
		t.Errorf("a list at /mcp took %d MiB", grown>>20)
	}
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPost, "/v1/admin/snapshots", `{"name":"-rf"}`},
		{http.MethodPost, "/v1/admin/experts", `{"name":"-rf"}`},
		{http.MethodPut, "/v1/passages/%2e%2e", `{"text":"zebra"}`},
	} {
		if status, answer, err := p.ask(c.method, c.path, ownerKey, c.body); err != nil || status < 400 || status > 499 {
			t.Errorf("%s %s %s: %d %.300s %v", c.method, c.path, c.body, status, answer, err)
		}
	}
	_, answer, err = p.ask(
		http.MethodPost,
		"/mcp",
		searcherKey,
		strings.ReplaceAll(call, "quotes", "linked"),
		"Accept",
		"application/json, text/event-stream",
	)
	if err != nil || !bytes.Contains(answer, []byte("a link that runs")) ||
		bytes.Count(answer, []byte(`"url":"javascript`)) != bytes.Count(answer, []byte(`"metadata":{"url":"javascript`)) {
		t.Errorf("a link that runs is cited: %.500s %v", answer, err)
	}
	_, answer, err = p.ask(http.MethodPost, "/v1/search", searcherKey, `{"question":"lighthouse"}`)
	if err != nil || bytes.Contains(answer, []byte(`"encode"`)) {
		t.Errorf("times of stages are told to one who searches: %.500s %v", answer, err)
	}
	c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	_, _ = io.WriteString(
		c,
		"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nX-API-Key: "+searcherKey+"\r\nContent-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"+
			"19\r\n{\"question\":\"lighthouse\"}\r\n0\r\n\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
	)
	text, err := io.ReadAll(c)
	if n := strings.Count(string(text), "HTTP/1.1 "); err != nil || n != 1 ||
		!strings.Contains(string(text), "HTTP/1.1 200") {
		t.Errorf("two ends: %d answers, %v: %.400s", n, err, text)
	}
}
