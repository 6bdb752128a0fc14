package sites

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// declareHTML declares a page.
func declareHTML(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/html") }

// endless writes a text again and again, until the connection is closed.
func endless(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}
}

// TestHostileSite reads a site that does to its reader what hurts readers: each page is left out or fails within the
// bounds, the others are read, and memory stays small.
func TestHostileSite(t *testing.T) {
	s := newTestSite(t)
	hostile := map[string]http.HandlerFunc{
		"/endless": endless("<p>word "),
		"/bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, zipped(strings.Repeat("<p>bomb", 4<<20)))
		},
		"/long-header": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-A", strings.Repeat("a", 1<<20)) },
		"/lies": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "<p>short")
		},
		"/huge": func(w http.ResponseWriter, _ *http.Request) {
			declareHTML(w)
			w.Header().Set("Content-Length", "9000000000000")
		},
		"/encoded": func(w http.ResponseWriter, _ *http.Request) { declareHTML(w); w.Header().Set("Content-Encoding", "br") },
		"/not-gzip": func(w http.ResponseWriter, _ *http.Request) {
			declareHTML(w)
			w.Header().Set("Content-Encoding", "gzip")
		},
		"/loop": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Location", "/loop?"); w.WriteHeader(302) },
		"/nowhere": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://[::1")
			w.WriteHeader(302)
		},
		"/missing":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(302) },
		"/odd":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(299) },
		"/forbidden": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) },
		"/robots":    func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Refresh", "0;url=file:///etc/passwd") },
	}
	start := words("start", 30)
	for path, page := range hostile {
		s.set(path, page)
		start += fmt.Sprintf(`<a href="%s">x</a>`, path)
	}
	s.html("/", "", start+`<a href="/good">x</a><a href="/many">x</a><a href="/secret">x</a><a href="`+strings.Repeat("a", 1<<16)+`">x</a>`)
	s.html("/good", "", words("good", 30))
	many := strings.Repeat(`<a href="http://127.0.0.1:1/`, 100)
	s.html("/many", "", words("many", 30)+many+`"`+strings.Repeat(` x="y"`, 1000)+`>x</a>`+strings.Repeat("<i>", 100_000))
	s.set("/robots.txt", endless("User-agent: *\nDisallow: /secret\n"))
	s.set("/sitemap.xml", endless("<urlset><url><loc>/secret</loc></url>"))
	o := s.options(t, "/")
	o.Attempts = 1
	o.Connections = 4
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, got := s.read(t, o)
	runtime.ReadMemStats(&after)
	if !slices.Contains(got, "/") || !slices.Contains(got, "/good") || !slices.Contains(got, "/many") {
		t.Errorf("read %q, %v", got, r.Failed)
	}
	for _, path := range []string{"/endless", "/bomb", "/lies", "/huge", "/forbidden"} {
		if slices.Contains(got, path) {
			t.Errorf("%s is read", path)
		}
	}
	if n := leftOf(r, LeftRobots); n != 1 {
		t.Errorf("the beginning of a long robots.txt has no effect: %v", r.Left)
	}
	if n := leftOf(r, LeftLarge); n != 3 {
		t.Errorf("%d pages are too large: %v %v", n, r.Left, r.Failed)
	}
	if taken := int64(after.TotalAlloc - before.TotalAlloc); taken > 512<<20 {
		t.Errorf("%d MiB were allocated", taken>>20)
	}
}

// TestHostileSlowness: a page that never begins or never ends costs the time of one page, and the others are read.
func TestHostileSlowness(t *testing.T) {
	s := newTestSite(t)
	s.html("/", "", words("start", 30)+`<a href="/slow">x</a><a href="/never">x</a><a href="/good">x</a>`)
	s.html("/good", "", words("good", 30))
	s.set("/slow", func(w http.ResponseWriter, r *http.Request) {
		declareHTML(w)
		_, _ = io.WriteString(w, "<p>slow")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	s.set("/never", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	o := s.options(t, "/")
	o.PageTime = 2 * time.Second
	o.Attempts = 1
	o.Connections = 3
	r, got := s.read(t, o)
	if !slices.Equal(got, []string{"/", "/good"}) || len(r.Failed) != 2 {
		t.Errorf("read %q, failed %v", got, r.Failed)
	}
}

// TestHostileStart: a site whose first answers never end, or lead around, is down.
func TestHostileStart(t *testing.T) {
	s := newTestSite(t)
	s.status("/a", 302, "Location", "/b")
	s.status("/b", 302, "Location", "/a")
	s.set("/never", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s.status("/file", 302, "Location", "file:///etc/passwd")
	s.status("/gopher", 301, "Location", "gopher://127.0.0.1:6379/_INFO")
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	unheard := "http://" + silent.Addr().String() + "/"
	for _, start := range []string{s.URL + "/a", s.URL + "/never", s.URL + "/file", s.URL + "/gopher", unheard} {
		o := s.options(t, "/")
		o.Attempts = 1
		o.PageTime = time.Second
		o.Start, err = ParseAddress(start)
		if err != nil {
			t.Fatal(err)
		}
		var down *DownError
		if _, err := Read(t.Context(), o); !errors.As(err, &down) {
			t.Errorf("%s: %v", start, err)
		}
	}
}
