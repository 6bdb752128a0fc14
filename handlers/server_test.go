package handlers

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/overload"
	"example.org/conclave/internal/testing/testenv"

	"go.uber.org/goleak"
)

// TestMain also fails when a code of the document came in no answer to any test.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(exit int) {
		if exit == 0 && flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.list").Value.String() == "" &&
			flag.Lookup("test.fuzz").Value.String() == "" {
			exit = unprovoked()
		}
		os.Exit(exit)
	}))
}

// server is an API behind a real listener on loopback.
type server struct {
	t       testing.TB
	api     *API
	address string
	log     *testenv.Buffer
	client  *http.Client
	stop    func() error
}

// testTimeouts returns short ones, so that slow clients are soon found out.
func testTimeouts() ServeOptions {
	return ServeOptions{
		HeaderBytes: 8 << 10, ReadHeaderTimeout: 300 * time.Millisecond, ReadTimeout: 600 * time.Millisecond,
		WriteTimeout: 10 * time.Second, IdleTimeout: 5 * time.Second, DrainTimeout: 5 * time.Second,
	}
}

// newAPI returns an API with what a test leaves out of the options.
func newAPI(t testing.TB, o Options) *API {
	t.Helper()
	if o.Admission == nil {
		o.Admission = admit(t, 256)
	}
	o.BodyBytes, o.RateWindow, o.Timeout = cmp.Or(
		o.BodyBytes, 1<<20,
	), cmp.Or(
		o.RateWindow,
		time.Minute,
	), cmp.Or(o.Timeout, 10*time.Second)
	o.AnswerMemory, o.BodyMemory = cmp.Or(o.AnswerMemory, 1<<30), cmp.Or(o.BodyMemory, 128<<20)
	w := &o.Write
	w.UploadBytes, w.Uploads, w.AnswerBytes, w.BytesASecond = cmp.Or(
		w.UploadBytes, 1<<30,
	), cmp.Or(
		w.Uploads,
		4,
	), cmp.Or(
		w.AnswerBytes, 256<<20,
	), cmp.Or(
		w.BytesASecond,
		1<<10,
	)
	w.LineBytes, w.PassageBytes, w.MetadataBytes, w.Tags = cmp.Or(
		w.LineBytes, 1<<20,
	), cmp.Or(
		w.PassageBytes,
		256<<10,
	), cmp.Or(
		w.MetadataBytes, 16<<10,
	), cmp.Or(
		w.Tags,
		64,
	)
	w.DocumentBytes = cmp.Or(w.DocumentBytes, 1<<20)
	api, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// admit lets in as much as is said.
func admit(t testing.TB, most int) *overload.Control {
	t.Helper()
	control, err := overload.New(most, runtime.GOMAXPROCS(0), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return control
}

// start serves an API on a free port of loopback until the test ends.
func start(t testing.TB, o Options, timeouts ...ServeOptions) *server {
	t.Helper()
	s := &server{t: t, log: &testenv.Buffer{}}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if o.Engine == nil {
		o.Engine = testEngine(t, engineOptions{})
	}
	s.api = newAPI(t, o)
	listener, err := s.api.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = listener.Addr().String()
	options := testTimeouts()
	if len(timeouts) > 0 {
		options = timeouts[0]
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.api.Serve(ctx, listener, options) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	s.client = &http.Client{Transport: transport, Timeout: 20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var once sync.Once
	var stopped error
	s.stop = func() error {
		once.Do(func() {
			transport.CloseIdleConnections()
			cancel()
			stopped = <-done
		})
		return stopped
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return s
}

// received is an answer with its body read.
type received struct {
	*http.Response
	body []byte
}

// problem reads the body as a problem.
func (r received) problem(t testing.TB) schema.Problem {
	t.Helper()
	if got := r.Header.Get("Content-Type"); got != schema.TypeProblem {
		t.Fatalf("status %d with type %q and body %.200s", r.StatusCode, got, r.body)
	}
	var p schema.Problem
	d := json.NewDecoder(bytes.NewReader(r.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
	if p.Status != r.StatusCode || p.Code == "" || p.Title == "" || p.Detail == "" || p.RequestID == "" ||
		p.RequestID != r.Header.Get("X-Request-ID") {
		t.Errorf("incomplete problem with status %d: %s", r.StatusCode, r.body)
	}
	return p
}

// send sends a request; header is a list of names and values.
func (s *server) send(method, path, body string, header ...string) received {
	s.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequest(method, "http://"+s.address+path, reader)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			request.Host = header[i+1]
			continue
		}
		request.Header.Add(header[i], header[i+1])
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	out, err := readAll(response)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	provoked(out)
	r := received{response, out}
	keepsContract(s.t, method, request.URL.EscapedPath(), r)
	if r.StatusCode >= 400 && method != http.MethodHead {
		r.problem(s.t)
	}
	return r
}

// readAll reads a body, uncompressed.
func readAll(response *http.Response) ([]byte, error) {
	body, err := io.ReadAll(response.Body)
	if err != nil || response.Header.Get("Content-Encoding") != "gzip" {
		return body, err
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// post sends JSON.
func (s *server) post(path, body string, header ...string) received {
	s.t.Helper()
	return s.send(http.MethodPost, path, body, append([]string{"Content-Type", "application/json"}, header...)...)
}

// raw sends bytes over a connection of its own and returns what comes back
// until the server closes, or until the time is over.
func (s *server) raw(text string, wait time.Duration) string {
	s.t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(wait))
	_, _ = io.WriteString(c, text) // the server may close before it has everything
	out, _ := io.ReadAll(c)
	provoked(out)
	return string(out)
}
