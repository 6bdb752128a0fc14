package handlers

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/search"
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
	api := newAPI(t, Options{Readiness: readiness})
	s := serveAPI(t, api)
	readiness.Set(schema.Component{Name: "wiki", Status: Starting, Detail: "loading"})
	for path, want := range map[string]int{"/livez": 200, "/startupz": 503, "/readyz": 503, "/v1/search?q=x": 503, "/v1/experts": 503, "/v1/passages/bees": 503, "/v1/limits": 503, "/openapi.json": 200, "/metrics": 200} {
		if r := s.send(http.MethodGet, path, ""); r.StatusCode != want ||
			want == 503 && r.Header.Get("Retry-After") == "" {
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
	readiness.Set(
		schema.Component{Name: "wiki", Status: Ready, Warnings: []string{"its index finds 25 % of the neighbours"}},
	)
	r := s.send(http.MethodGet, "/readyz", "")
	if r.StatusCode != http.StatusOK ||
		!strings.Contains(string(r.body), `"warnings":["wiki: its index finds 25 % of the neighbours"]`) ||
		!strings.Contains(string(r.body), `"generation":12`) {
		t.Errorf("ready with a warning: %d %s", r.StatusCode, r.body)
	}
	readiness.Set(schema.Component{Name: "health", Status: Failed})
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
	release  chan struct{}
	served   chan error // what Serve returned
	answered chan error // how the search went
	client   *http.Client
}

func startShutdown(t *testing.T, o ServeOptions) *shutdown {
	t.Helper()
	entered := make(chan struct{}, 1)
	x := &shutdown{release: make(chan struct{}), served: make(chan error, 1), answered: make(chan error, 1)}
	api := newAPI(
		t,
		Options{
			Engine: testEngine(
				t, engineOptions{before: gate(entered, x.release), limits: search.Limits{Timeout: time.Minute}},
			),
		},
	)
	listener, err := api.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	x.cancel = cancel
	go func() { x.served <- api.Serve(ctx, listener, o) }()
	transport := &http.Transport{}
	x.client = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	go func() {
		response, err := x.client.Post("http://"+x.address+"/v1/search", "application/json",
			strings.NewReader(`{"question":"bees","experts":["wiki"],"bm25":false,"timeout_ms":60000}`))
		if err == nil {
			_, err = io.ReadAll(response.Body)
			if err == nil && response.StatusCode != http.StatusOK {
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

func TestListenerFails(t *testing.T) {
	api := newAPI(t, Options{})
	listener, err := api.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	if err := api.Serve(t.Context(), listener, ServeOptions{}); err == nil ||
		!strings.Contains(err.Error(), listener.Addr().String()) {
		t.Errorf("%v", err)
	}
}

// TestCallerGoes stops the work of a caller that closes its connection.
func TestCallerGoes(t *testing.T) {
	entered, release := make(chan struct{}, 1), make(chan struct{})
	stopped := make(chan bool, 1)
	hold := gate(entered, release)
	s := start(
		t,
		Options{
			Engine: testEngine(
				t,
				engineOptions{limits: search.Limits{Timeout: time.Minute}, before: func(ctx context.Context) error {
					err := hold(ctx)
					stopped <- err != nil
					return err
				}},
			),
		},
	)
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"question":"bees","experts":["wiki"],"bm25":false,"timeout_ms":60000}`
	_, _ = io.WriteString(
		c,
		"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "+itoa(
			len(body),
		)+"\r\n\r\n"+body,
	)
	<-entered
	_ = c.Close()
	if err := s.stop(); err != nil { // waits for the handler
		t.Error(err)
	}
	if !<-stopped { // which may be behind the answer
		t.Error("the encoder was not told")
	}
	if log := s.log.String(); !strings.Contains(log, `"code":"client_gone"`) {
		t.Errorf("%s", log)
	}
}

// TestRawErrors: what is no HTTP is answered by net/http, and harms nobody else.
func TestRawErrors(t *testing.T) {
	s := start(t, Options{})
	for request, want := range map[string]int{
		"rubbish\r\n\r\n":                                                                    400,
		"GET / HTTP/1.1\r\n\r\n":                                                             400, // no Host
		"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n":                                       400,
		"GET / HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n":                         400,
		"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n":                                       400,
		"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n":                                          505,
		"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n":     501,
		"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1, 2\r\n\r\n":        400,
		"GET /livez HTTP/1.1\r\nHost: localhost\r\nExpect: miracles\r\n\r\n":                 417,
		"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("a", 20<<10) + "\r": 431,
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n":                               400, // TLS
	} {
		out := s.raw(request, 5*time.Second)
		if !strings.HasPrefix(out, "HTTP/1.1 "+itoa(want)) || strings.Count(out, "HTTP/1.1") != 1 {
			t.Errorf("%.60q: %q", request, out)
		}
	}
	if r := s.send(http.MethodGet, "/livez", ""); r.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %d", r.StatusCode)
	}
}

// TestSlowClients checks that slow clients are cut off, and told why where their header is whole.
func TestSlowClients(t *testing.T) {
	s := start(t, Options{})
	const head = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	// A body that stops.
	out := s.raw(head+"Content-Length: 100\r\n\r\n{\"question\":", 5*time.Second)
	if !strings.HasPrefix(out, "HTTP/1.1 408 ") || !strings.Contains(out, "slow_request") ||
		!strings.Contains(out, "Connection: close") {
		t.Errorf("a body that stops: %q", out)
	}
	// A header that stops, wherever it does, and one that comes by drops.
	var callers sync.WaitGroup
	for _, at := range []int{0, 1, 10, 30, len(head) - 1, len(head)} {
		callers.Go(func() {
			if c := s.drip(head[:at]); !closed(c) {
				t.Errorf("a header that stops at %d is waited for", at)
			}
		})
	}
	callers.Wait()
	c := s.drip("")
	ended := make(chan bool)
	go func() { ended <- closed(c) }()
	for {
		if _, err := io.WriteString(c, "a"); err != nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if !<-ended {
		t.Error("a header by drops was not cut")
	}
}

// TestPipelining answers requests of one connection in their order, and stops
// at the first that is rubbish.
func TestPipelining(t *testing.T) {
	s := start(t, Options{})
	get := "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
	out := s.raw(
		get+get+"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\nrubbish"+get+"rubbish\r\n\r\n"+get,
		5*time.Second,
	)
	var statuses []string
	for _, part := range strings.Split(out, "HTTP/1.1 ")[1:] {
		statuses = append(statuses, part[:3])
	}
	if got := strings.Join(statuses, " "); got != "200 200 400 200 400" {
		t.Errorf("%s in %q", got, out)
	}
	// A smuggler's request: two lengths that disagree.
	out = s.raw(
		"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+get,
		2*time.Second,
	)
	if strings.Count(out, "HTTP/1.1 200") > 1 {
		t.Errorf("%q", out)
	}
	if out := s.raw("GET /livez HTTP/1.0\r\nHost: localhost\r\n\r\n", 2*time.Second); !strings.HasPrefix(
		out, "HTTP/1.0 200",
	) {
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
	if out := s.raw(head+"Transfer-Encoding: chunked\r\n\r\n"+chunk+chunk, 5*time.Second); !strings.HasPrefix(
		out, "HTTP/1.1 413 ",
	) {
		t.Errorf("in chunks: %q", out)
	}
	body := `{"question":"bees"}`
	whole := body + strings.Repeat(" ", 4096-len(body))
	if r := s.post("/v1/search", whole); r.StatusCode != http.StatusOK {
		t.Errorf("exactly at the limit: %d", r.StatusCode)
	}
}
