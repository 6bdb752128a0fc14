package handlers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/collections"
	"example.org/conclave/store"
)

// stalling makes each change wait for its release, as a full backlog does, and
// who waits for searches to see it until it is shown.
type stalling struct {
	Writer
	entered        chan<- struct{}
	release, shown <-chan struct{}
}

func (s stalling) Wait(ctx context.Context, seq uint64) error {
	select {
	case <-s.shown:
		return s.Writer.Wait(ctx, seq)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s stalling) Apply(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	s.entered <- struct{}{}
	select {
	case <-s.release:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.Writer.Apply(ctx, changes)
}

// stall is how long a change waits here: longer than either deadline.
const stall = 2500 * time.Millisecond

// stalledServer is a server whose deadlines pass while a change waits.
type stalledServer struct {
	*writingServer
	version string // of HTTP
	client  *http.Client
	entered chan struct{}
	release chan struct{}
	shown   chan struct{}
}

func startStalled(t *testing.T, version string) *stalledServer {
	t.Helper()
	s := &stalledServer{
		version: version,
		entered: make(chan struct{}, 16),
		release: make(chan struct{}),
		shown:   make(chan struct{}),
	}
	s.writingServer = startWriting(t, writingOptions{
		wrap: func(w Writer) Writer { return stalling{w, s.entered, s.release, s.shown} },
		timeouts: []ServeOptions{{
			ReadHeaderTimeout: time.Second, ReadTimeout: time.Second, WriteTimeout: 1500 * time.Millisecond,
			IdleTimeout: time.Minute, DrainTimeout: 5 * time.Second,
		}},
	})
	transport := &http.Transport{}
	if version == "HTTP/2.0" {
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		transport.Protocols = &protocols
	}
	t.Cleanup(transport.CloseIdleConnections)
	s.client = &http.Client{Transport: transport}
	return s
}

// answer is what came of a request.
type answer struct {
	what   string
	status int
	text   string
	err    error
}

// ask sends a request and takes its answer whole.
func (s *stalledServer) ask(method, path, contentType string, body io.Reader) answer {
	a := answer{what: method}
	request, err := http.NewRequest(method, "http://"+s.address+"/v1/"+path, body)
	if err != nil {
		a.err = err
		return a
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := s.client.Do(request)
	if err != nil {
		a.err = err
		return a
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.Proto != s.version {
		err = fmt.Errorf("answered in %s", response.Proto)
	}
	a.status = response.StatusCode
	a.text = string(text)
	a.err = err
	return a
}

// comes waits until a change waits.
func (s *stalledServer) comes() {
	s.t.Helper()
	select {
	case <-s.entered:
	case <-time.After(10 * time.Second):
		s.t.Fatal("a change that was sent does not arrive")
	}
}

// TestStalledChange: a change that waits longer for the backlog than the
// connection's deadlines is made, and answered; so is one that then waits to be
// seen by searches.
func TestStalledChange(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := startStalled(t, version)
			answers := make(chan answer, 2)
			go func() {
				body := strings.NewReader(`{"text":"zebra"}`)
				answers <- s.ask(http.MethodPut, "passages/new?refresh=wait", schema.TypeJSON, body)
			}()
			go func() { answers <- s.ask(http.MethodDelete, "passages/seed1", "", nil) }()
			s.comes()
			s.comes()
			time.Sleep(stall)
			close(s.release)
			time.Sleep(stall)
			close(s.shown)
			for range 2 {
				a := <-answers
				status := http.StatusCreated
				outcome := `"status":"created"`
				if a.what == http.MethodDelete {
					status = http.StatusOK
					outcome = `"status":"deleted"`
				}
				if a.err != nil || a.status != status || !strings.Contains(a.text, outcome) {
					t.Errorf("%s: %d %s %v", a.what, a.status, a.text, a.err)
				}
			}
			for id, want := range map[string]bool{"new": true, "seed1": false} {
				if _, _, given, err := s.live.Passage(t.Context(), id, anyRoom); given != want || err != nil {
					t.Errorf("%s is there: %v, %v", id, given, err)
				}
			}
		})
	}
}

// TestStalledUpload: lines that are sent while the ones before them wait for
// the backlog, longer than the connection's deadlines, are stored too.
func TestStalledUpload(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		for _, query := range []string{"?refresh=wait", "?refresh=wait&stream=true"} {
			t.Run(version+query, func(t *testing.T) {
				t.Parallel()
				s := startStalled(t, version)
				body, send := io.Pipe()
				answers := make(chan answer, 1)
				go func() { answers <- s.ask(http.MethodPost, "passages"+query, schema.TypeLines, body) }()
				line := func(i int) {
					if _, err := fmt.Fprintf(send, "{\"id\":\"l%d\",\"text\":\"zebra\"}\n", i); err != nil {
						t.Errorf("line %d: %v", i, err)
					}
				}
				line(0)
				s.comes()
				time.Sleep(stall) // the server waits for the next line
				s.release <- struct{}{}
				line(1)
				s.comes()
				line(2) // is read, and waits to be stored
				time.Sleep(stall)
				close(s.release)
				line(3)
				_ = send.Close()
				time.Sleep(stall) // searches do not see it yet
				close(s.shown)
				a := <-answers
				if a.err != nil || a.status != http.StatusOK {
					t.Errorf("%d %s %v", a.status, a.text, a.err)
				}
				lines, last := parseAnswer(t, []byte(a.text))
				if len(lines) != 4 || last != nil {
					t.Errorf("%s, and then %+v", told(lines), last)
				}
				for i := range 4 {
					if _, _, given, err := s.live.Passage(t.Context(), fmt.Sprint("l", i), anyRoom); !given || err != nil {
						t.Errorf("line %d is not stored: %v", i, err)
					}
				}
			})
		}
	}
}

// stallingSettings keep no settings, and take longer than either deadline to do so.
type stallingSettings struct{}

func (stallingSettings) Settings() (collections.Settings, error) { return collections.Settings{}, nil }

func (stallingSettings) Configure(context.Context, collections.Settings) error {
	time.Sleep(stall)
	return nil
}

// TestStalledSettings: settings that wait for their store longer than the connection's deadlines are answered.
func TestStalledSettings(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := startStalled(t, version)
			s.api.AttachSettings(stallingSettings{})
			if a := s.ask(http.MethodPut, "admin/settings", schema.TypeJSON, strings.NewReader(`{}`)); a.err != nil ||
				a.status != http.StatusOK {
				t.Errorf("%d %s %v", a.status, a.text, a.err)
			}
		})
	}
}
