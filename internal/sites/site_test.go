package sites

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// testSite is a site on loopback. Its pages are functions, by path and query.
type testSite struct {
	*httptest.Server
	mu    sync.Mutex
	pages map[string]http.HandlerFunc
	asked []string // paths and queries, in order
}

func newTestSite(t *testing.T) *testSite {
	t.Helper()
	s := &testSite{pages: map[string]http.HandlerFunc{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.RequestURI())
		page := s.pages[r.URL.RequestURI()]
		if page == nil {
			page = s.pages[r.URL.Path+"?"]
		}
		s.mu.Unlock()
		if page == nil {
			http.NotFound(w, r)
			return
		}
		page(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// set makes a path answer with a page.
func (s *testSite) set(path string, page http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = page
}

// html makes a path answer with a page of HTML, whose ETag is its content.
func (s *testSite) html(path, head, body string) {
	s.set(path, func(w http.ResponseWriter, r *http.Request) {
		tag := fmt.Sprintf("%q", fmt.Sprint(len(head), len(body), path))
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, "<html><head>%s</head><body>%s</body></html>", head, body)
	})
}

// text makes a path answer with a text of a type.
func (s *testSite) text(path, mediaType, text string) {
	s.set(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		_, _ = w.Write([]byte(text))
	})
}

// status makes a path answer with a status and headers, in pairs.
func (s *testSite) status(path string, status int, header ...string) {
	s.set(path, func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
	})
}

// count returns how often a path was asked for.
func (s *testSite) count(path string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, asked := range s.asked {
		if asked == path {
			n++
		}
	}
	return n
}

// words returns a text of so many words that no other seed has.
func words(seed string, n int) string {
	var b strings.Builder
	for i := range n {
		_, _ = fmt.Fprintf(&b, "%s%d ", seed, i)
	}
	return b.String()
}

// waits is a Clock whose time passes only by waiting, which is noted.
type waits struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func (c *waits) clock() Clock {
	return Clock{
		Now: func() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now },
		Sleep: func(ctx context.Context, d time.Duration) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.now = c.now.Add(d)
			c.slept = append(c.slept, d)
			return ctx.Err()
		},
	}
}

// options returns options for reading the site from a path, without waiting.
func (s *testSite) options(t *testing.T, path string) Options {
	t.Helper()
	start, err := ParseAddress(s.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Start: start, Depth: 20, Pages: 10_000, Bytes: 1 << 30, PageBytes: 1 << 20, PageTime: 10 * time.Second,
		Time: time.Hour, Connections: 1, Attempts: 4, Agent: "conclave/test", Spool: t.TempDir(),
		Reach:      Reach{AnyHost: true, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}},
		IsReadable: func(mediaType, _ string) bool { return strings.HasPrefix(mediaType, "text/") },
		Clock:      (&waits{now: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)}).clock(),
	}
}

// read reads the site and returns the paths of its pages, sorted.
func (s *testSite) read(t *testing.T, o Options) (*Reading, []string) {
	t.Helper()
	r, err := Read(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, p := range r.Pages {
		paths = append(paths, strings.TrimPrefix(p.Address, s.URL))
	}
	slices.Sort(paths)
	return r, paths
}

// leftOf returns how many addresses were left out for a reason.
func leftOf(r *Reading, reason string) int {
	for _, l := range r.Left {
		if l.Reason == reason {
			return l.Count
		}
	}
	return 0
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}
