package handlers

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"conclave/search"
)

// gate holds encoders until release is closed or their caller has gone, and
// says when one has come.
func gate(entered chan<- struct{}, release <-chan struct{}) func(context.Context) error {
	return func(ctx context.Context) error {
		entered <- struct{}{}
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestReadiness(t *testing.T) {
	readiness := &Readiness{}
	api, err := New(Options{Readiness: readiness})
	if err != nil {
		t.Fatal(err)
	}
	s := serveAPI(t, api)
	readiness.Set(Component{Name: "wiki", Status: Starting, Detail: "loading"})
	for path, want := range map[string]int{"/livez": 200, "/startupz": 503, "/readyz": 503, "/v1/search?q=x": 503, "/v1/experts": 503, "/v1/passages/bees": 503, "/v1/limits": 503, "/openapi.json": 200, "/metrics": 200} {
		if r := s.send(http.MethodGet, path, ""); r.StatusCode != want || want == 503 && r.Header.Get("Retry-After") == "" {
			t.Errorf("at the start, %s: %d", path, r.StatusCode)
		}
	}
	api.Attach(testEngine(t, engineOptions{}))
	p := s.send(http.MethodGet, "/readyz", "").problem(t)
	if p.Code != "not_ready" || len(p.Components) != 1 || p.Components[0].Detail != "loading" {
		t.Errorf("while one component starts: %+v", p)
	}
	if r := s.send(http.MethodGet, "/startupz", ""); r.StatusCode != http.StatusOK {
		t.Errorf("started: %d", r.StatusCode)
	}
	readiness.Set(Component{Name: "wiki", Status: Ready, Warnings: []string{"its index finds 25 % of the neighbours"}})
	r := s.send(http.MethodGet, "/readyz", "")
	if r.StatusCode != http.StatusOK || !strings.Contains(string(r.body), `"warnings":["wiki: its index finds 25 % of the neighbours"]`) || !strings.Contains(string(r.body), `"generation":12`) {
		t.Errorf("ready with a warning: %d %s", r.StatusCode, r.body)
	}
	readiness.Set(Component{Name: "health", Status: Failed})
	if p := s.send(http.MethodGet, "/readyz", "").problem(t); !strings.Contains(p.Detail, "health: failed") {
		t.Errorf("%+v", p)
	}
}

// serveAPI serves a given API until the test ends.
func serveAPI(t *testing.T, api *API) *server {
	t.Helper()
	listener, err := api.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- api.Serve(ctx, listener, testTimeouts()) }()
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return &server{t: t, api: api, address: listener.Addr().String(), client: &http.Client{Transport: transport}}
}

// shutdown is a server with one search under way, which waits at a gate.
type shutdown struct {
	address  string
	cancel   context.CancelFunc
	abort    chan struct{}
	release  chan struct{}
	served   chan error // what Serve returned
	answered chan error // how the search went
	client   *http.Client
}

func startShutdown(t *testing.T, o ServeOptions) *shutdown {
	t.Helper()
	entered := make(chan struct{}, 1)
	x := &shutdown{abort: make(chan struct{}), release: make(chan struct{}), served: make(chan error, 1), answered: make(chan error, 1)}
	api, err := New(Options{Engine: testEngine(t, engineOptions{before: gate(entered, x.release), limits: search.Limits{Timeout: time.Minute}})})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := api.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	x.cancel = cancel
	o.Abort = x.abort
	go func() { x.served <- api.Serve(ctx, listener, o) }()
	transport := &http.Transport{}
	x.client = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	go func() {
		response, err := x.client.Post("http://"+x.address+"/v1/search", "application/json",
			strings.NewReader(`{"question":"bees","experts":["wiki"],"bm25":false,"timeout_ms":60000}`))
		if err == nil {
			if _, err = io.ReadAll(response.Body); err == nil && response.StatusCode != http.StatusOK {
				err = errors.New(response.Status)
			}
			_ = response.Body.Close()
		}
		x.answered <- err
	}()
	<-entered
	return x
}

func TestGracefulShutdown(t *testing.T) {
	x := startShutdown(t, ServeOptions{DrainDelay: time.Second, DrainTimeout: 20 * time.Second})
	x.cancel()
	// Between the signal and the closing of the listener, balancers are told.
	draining := false
	for range 200 {
		response, err := x.client.Get("http://" + x.address + "/readyz")
		if err != nil {
			break
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusServiceUnavailable {
			draining = true
			break
		}
		time.Sleep(time.Millisecond)
	}
	if !draining {
		t.Error("/readyz did not say that the server is going away")
	}
	for range 5000 { // then nobody new gets in
		c, err := net.Dial("tcp", x.address)
		if err != nil {
			break
		}
		_ = c.Close()
		time.Sleep(time.Millisecond)
	}
	if c, err := net.Dial("tcp", x.address); err == nil {
		_ = c.Close()
		t.Error("the listener is still open")
	}
	select {
	case err := <-x.served:
		t.Fatalf("Serve returned with a search under way: %v", err)
	default:
	}
	close(x.release)
	if err := <-x.answered; err != nil {
		t.Errorf("the search under way: %v", err)
	}
	if err := <-x.served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestDrainTimeout(t *testing.T) {
	x := startShutdown(t, ServeOptions{DrainTimeout: 50 * time.Millisecond})
	x.cancel()
	if err := <-x.served; err == nil || !strings.Contains(err.Error(), "1 requests were cut off") {
		t.Errorf("Serve: %v", err)
	}
	if err := <-x.answered; err == nil {
		t.Error("the search got an answer")
	}
}

func TestSecondSignal(t *testing.T) {
	x := startShutdown(t, ServeOptions{DrainDelay: time.Hour, DrainTimeout: time.Hour})
	x.cancel()
	close(x.abort)
	if err := <-x.served; err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("Serve: %v", err)
	}
	if err := <-x.answered; err == nil {
		t.Error("the search got an answer")
	}
}

func TestListenerFails(t *testing.T) {
	api, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := api.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	if err := api.Serve(t.Context(), listener, ServeOptions{}); err == nil || !strings.Contains(err.Error(), listener.Addr().String()) {
		t.Errorf("%v", err)
	}
}

// TestCallerGoes stops the work of a caller that closes its connection.
func TestCallerGoes(t *testing.T) {
	entered, release := make(chan struct{}, 1), make(chan struct{})
	var stopped atomic.Bool
	hold := gate(entered, release)
	s := start(t, Options{Engine: testEngine(t, engineOptions{limits: search.Limits{Timeout: time.Minute}, before: func(ctx context.Context) error {
		err := hold(ctx)
		stopped.Store(err != nil)
		return err
	}})})
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"question":"bees","experts":["wiki"],"bm25":false,"timeout_ms":60000}`
	_, _ = io.WriteString(c, "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "+itoa(len(body))+"\r\n\r\n"+body)
	<-entered
	_ = c.Close()
	if err := s.stop(); err != nil { // waits for the handler
		t.Error(err)
	}
	if !stopped.Load() {
		t.Error("the encoder was not told")
	}
	if log := s.log.String(); !strings.Contains(log, `"code":"client_gone"`) {
		t.Errorf("%s", log)
	}
}

// TestRawErrors are those that net/http answers by itself.
func TestRawErrors(t *testing.T) {
	s := start(t, Options{})
	for request, want := range map[string]struct {
		status int
		code   string
	}{
		"rubbish\r\n\r\n":                                                                    {400, "malformed_request"},
		"GET / HTTP/1.1\r\n\r\n":                                                             {400, "malformed_request"}, // no Host
		"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n":                                       {400, "malformed_request"},
		"GET / HTTP/1.1\r\nHost: a b\r\n\r\n":                                                {400, "malformed_request"},
		"GET / HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n":                         {400, "malformed_request"},
		"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n":                                       {400, "malformed_request"},
		"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n":                                          {505, "http_version"},
		"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n":     {501, "unsupported_encoding"},
		"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n":          {400, "malformed_request"},
		"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1, 2\r\n\r\n":        {400, "malformed_request"},
		"GET /livez HTTP/1.1\r\nHost: localhost\r\nExpect: miracles\r\n\r\n":                 {417, "expectation_failed"},
		"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("a", 20<<10) + "\r": {431, "header_too_large"},
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n":                               {400, "malformed_request"}, // TLS
	} {
		out := s.raw(request, 5*time.Second)
		response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(out)), nil)
		if err != nil {
			t.Errorf("%.60q: %v in %q", request, err, out)
			continue
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Errorf("%.60q: %v in %q", request, err, out)
		}
		if p := (reply{response, body}).problem(t); p.Status != want.status || p.Code != want.code {
			t.Errorf("%.60q: %s", request, body)
		}
	}
}

// TestSlowClients are cut off, and told why where they can be told.
func TestSlowClients(t *testing.T) {
	s := start(t, Options{})
	const head = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	// A body that stops.
	out := s.raw(head+"Content-Length: 100\r\n\r\n{\"question\":", 5*time.Second)
	if !strings.HasPrefix(out, "HTTP/1.1 408 ") || !strings.Contains(out, "slow_request") || !strings.Contains(out, "Connection: close") {
		t.Errorf("a body that stops: %q", out)
	}
	// A header that stops, wherever it does.
	whole := head + "X-Slow: yes\r\n"
	var callers sync.WaitGroup
	for _, at := range []int{1, 4, 10, 26, 30, len(head) - 1, len(head), len(head) + 3, len(whole)} {
		callers.Go(func() {
			out := s.raw(whole[:at], 5*time.Second)
			if !strings.HasPrefix(out, "HTTP/1.1 408 ") || !strings.Contains(out, "slow_request") || !strings.Contains(out, "Connection: close") || strings.Count(out, "HTTP/1.1") != 1 {
				t.Errorf("a header that stops at %d: %q", at, out)
			}
		})
	}
	callers.Wait()
	// A second one, after a request that was answered.
	again, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	_ = again.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.WriteString(again, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
	replies := bufio.NewReader(again)
	first, err := http.ReadResponse(replies, nil)
	if err != nil || first.StatusCode != http.StatusOK {
		t.Fatal(first, err)
	}
	_, _ = io.Copy(io.Discard, first.Body)
	_, _ = io.WriteString(again, "GET /li")
	if second, err := http.ReadResponse(replies, nil); err != nil || second.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a second header that stops: %v, %v", second, err)
	}
	// Who says nothing is told nothing.
	if out := s.raw("", 5*time.Second); out != "" {
		t.Errorf("no header: %q", out)
	}
	// A header that comes by drops, whose sender is told too.
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	began := time.Now()
	_ = c.SetDeadline(began.Add(5 * time.Second))
	told := make(chan string, 1)
	go func() {
		out, _ := io.ReadAll(c)
		told <- string(out)
	}()
	for _, b := range []byte(head + "X-Slow: " + strings.Repeat("a", 1000)) {
		if _, err := c.Write([]byte{b}); err != nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
		if time.Since(began) > 4*time.Second {
			t.Fatal("a header by drops was not cut")
		}
	}
	if out := <-told; !strings.HasPrefix(out, "HTTP/1.1 408 ") {
		t.Errorf("a header by drops: %q", out)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(s.log.String(), `"code":"slow_request"`); n != 12 {
		t.Errorf("%d slow requests in the log, want 12", n)
	}
}

// halfClosed sends a text, closes the sending half, and returns what comes.
func halfClosed(t *testing.T, address, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(c)
	if err != nil {
		t.Errorf("%.60q: %v", text, err)
	}
	return string(out)
}

// TestHalfClosed sends a whole request and closes the sending half: there is
// an answer, as to everybody.
func TestHalfClosed(t *testing.T) {
	s := start(t, Options{})
	post := func(body string, declared int) string {
		return "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " + itoa(declared) + "\r\n\r\n" + body
	}
	const good = `{"question":"bees"}`
	for text, want := range map[string]string{
		post(good, len(good)):    "200",
		post(good[:12], 12):      "400",
		post(good, len(good)+10): "400", // incomplete
		"GET /v1/search?q=bees HTTP/1.1\r\nHost: localhost\r\n\r\n":         "200",
		"GET /v1/search?q=bees HTTP/1.0\r\nHost: localhost\r\n\r\n":         "200",
		"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n":                  "404",
		strings.Repeat("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", 3): "200",
	} {
		for range 10 { // the end is seen before the handler begins, or after
			// On a busy machine there may be interim answers before.
			out := strings.ReplaceAll(halfClosed(t, s.address, text), "HTTP/1.1 100 Continue\r\n\r\n", "")
			rest := strings.TrimPrefix(strings.TrimPrefix(out, "HTTP/1.1 "), "HTTP/1.0 ")
			if status, _, _ := strings.Cut(rest, " "); status != want {
				t.Errorf("%.60q: %q, want %s", text, out, want)
			}
			if asked, answered := strings.Count(text, "/livez"), strings.Count(out, `"status":"ok"`); asked > 0 && asked != answered {
				t.Errorf("%d requests, %d answers", asked, answered)
			}
		}
	}
}

// TestHalfClosedAndSlow has an answer that takes longer than the server
// believes in callers without looking: they get interim answers before.
func TestHalfClosedAndSlow(t *testing.T) {
	s := start(t, Options{Engine: testEngine(t, engineOptions{before: func(ctx context.Context) error {
		select {
		case <-time.After(6 * firstProbe):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}})})
	for _, version := range []string{"1.0", "1.1"} {
		out := halfClosed(t, s.address, "GET /v1/search?q=bees&experts=wiki HTTP/"+version+"\r\nHost: localhost\r\n\r\n")
		response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(out)), nil)
		for err == nil && response.StatusCode == http.StatusContinue {
			out = strings.TrimPrefix(out, "HTTP/1.1 100 Continue\r\n\r\n")
			if version == "1.0" {
				t.Error("HTTP/1.0 has no interim answers")
			}
			response, err = http.ReadResponse(bufio.NewReader(strings.NewReader(out)), nil)
		}
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(out, `"status":"ok"`) {
			t.Errorf("HTTP/%s: %v, %q", version, err, out)
		}
	}
}

// TestPipelining answers requests of one connection in their order, and stops
// at the first that is rubbish.
func TestPipelining(t *testing.T) {
	s := start(t, Options{})
	get := "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
	out := s.raw(get+get+"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\nrubbish"+get+"rubbish\r\n\r\n"+get, 5*time.Second)
	var statuses []string
	for _, part := range strings.Split(out, "HTTP/1.1 ")[1:] {
		statuses = append(statuses, part[:3])
	}
	if got := strings.Join(statuses, " "); got != "200 200 400 200 400" {
		t.Errorf("%s in %q", got, out)
	}
	// A smuggler's request: two lengths that disagree.
	out = s.raw("POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+get, 2*time.Second)
	if strings.Count(out, "HTTP/1.1 200") > 1 {
		t.Errorf("%q", out)
	}
	if out := s.raw("GET /livez HTTP/1.0\r\nHost: localhost\r\n\r\n", 2*time.Second); !strings.HasPrefix(out, "HTTP/1.0 200") {
		t.Errorf("HTTP/1.0: %q", out)
	}
}

// TestLargeBodies refuses a body that says that it is too large before it is
// sent, and one that does not say as soon as it is.
func TestLargeBodies(t *testing.T) {
	s := start(t, Options{BodyBytes: 4096})
	const head = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	if out := s.raw(head+"Content-Length: 99999999\r\n\r\n", 5*time.Second); !strings.HasPrefix(out, "HTTP/1.1 413 ") {
		t.Errorf("declared: %q", out)
	}
	chunk := "1000\r\n" + strings.Repeat(" ", 0x1000) + "\r\n"
	if out := s.raw(head+"Transfer-Encoding: chunked\r\n\r\n"+chunk+chunk, 5*time.Second); !strings.HasPrefix(out, "HTTP/1.1 413 ") {
		t.Errorf("in chunks: %q", out)
	}
	body := `{"question":"bees"}`
	whole := body + strings.Repeat(" ", 4096-len(body))
	if r := s.post("/v1/search", whole); r.StatusCode != http.StatusOK {
		t.Errorf("exactly at the limit: %d", r.StatusCode)
	}
}
