package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/jobs"
)

// pages is a website on loopback: texts of pages by their paths, each with links to all others. It may be down.
type pages struct {
	*httptest.Server
	mu    sync.Mutex
	texts map[string]string
	down  bool
	busy  string   // path of a page that is busy for a while
	sent  []string // paths of the pages that were sent with their content
}

func newPages(t *testing.T, texts map[string]string) *pages {
	t.Helper()
	p := &pages{texts: texts}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		text, found := p.texts[r.URL.Path]
		tag := fmt.Sprintf(`"%d-%d"`, len(text), len(p.texts))
		switch {
		case p.down:
			w.WriteHeader(http.StatusInternalServerError)
			return
		case p.busy == r.URL.Path:
			w.Header().Set("Retry-After", "200")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case !found:
			http.NotFound(w, r)
			return
		case r.Header.Get("If-None-Match") == tag:
			w.WriteHeader(http.StatusNotModified)
			return
		case strings.HasPrefix(text, "http"):
			http.Redirect(w, r, text, http.StatusFound)
			return
		}
		p.sent = append(p.sent, r.URL.Path)
		w.Header().Set("ETag", tag)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, "<title>%s</title><main><h1>%[1]s</h1><p>%s</p></main><nav>", path.Base(r.URL.Path), text)
		for link := range p.texts {
			_, _ = fmt.Fprintf(w, `<a href="%s">%[1]s</a>`, link)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// change changes the pages, and forgets what was sent.
func (p *pages) change(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = nil
	do()
}

// host returns the host with its port.
func (p *pages) host() string { return strings.TrimPrefix(p.URL, "http://") }

// ids returns the ids of the server's documents that are pages, without the address of the site.
func (p *pages) ids(s *served) (out []string) {
	for _, id := range s.documents() {
		if below, is := strings.CutPrefix(id, p.URL); is {
			out = append(out, below)
		}
	}
	return out
}

// text returns a sentence of more than twenty words that begins with some of its own.
func text(begins string) string {
	return begins + strings.Repeat(" and this sentence about "+begins+" goes on for a while", 3) + "."
}

// TestReadSite adds a page and then a site over HTTP, changes the site, and adds it again: a job takes what is new,
// replaces what changed, and removes what was absent twice. Hosts and networks that are not allowed are not asked.
func TestReadSite(t *testing.T) {
	web := newPages(t, map[string]string{
		"/docs/": text("The start"), "/docs/bees.html": text("Bees dance"), "/docs/hours.html": text("Open from nine"),
		"/docs/moon.html": text("A fox asked the moon"), "/docs/rain.html": text("Rain falls"), "/blog/": text("A blog"),
	})
	s := newSite(t, named("base"), "base")
	s.config.Documents.Hosts = []string{web.host(), "*.example.org"}
	s.config.Documents.Networks = []string{"127.0.0.1/32"}
	s.config.Documents.Site.Rate = 1000
	s.config.Documents.Site.Attempts = 1
	server := s.serve()
	read := func(body string) jobs.Job {
		t.Helper()
		header := server.post("/v1/documents?tags=web", "application/json", []byte(body), 202)
		return server.job(header)
	}
	job := read(fmt.Sprintf(`{"url":"%s/docs/bees.html"}`, web.URL))
	if got := web.ids(server); !slices.Equal(got, []string{"/docs/bees.html"}) || job.Result.Documents.Added != 1 {
		t.Fatalf("a page: %q, %+v", got, job)
	}
	bees := strings.ReplaceAll(web.URL+"/docs/bees.html", "/", "%2F")
	server.call("DELETE", "/v1/documents/"+bees+"?refresh=wait", "", 200, nil)

	site := fmt.Sprintf(`{"url":"%s/docs/","site":true}`, web.URL)
	job = read(site)
	want := []string{"/docs/", "/docs/bees.html", "/docs/hours.html", "/docs/moon.html", "/docs/rain.html"}
	if got := web.ids(server); !slices.Equal(got, want) {
		t.Fatalf("a site: %q, %+v", got, job)
	}
	var list struct{ Documents []corpus.Document }
	server.call("GET", "/v1/documents", "", 200, &list)
	if d := list.Documents[0]; !slices.Equal(d.Tags, []string{"web"}) || d.Root == "" || d.Original != "" {
		t.Errorf("a document: %+v", d)
	}
	if left := job.Result.Documents.Left; len(left) != 1 || left[0].Reason != "outside" || left[0].Count != 1 {
		t.Errorf("left out: %+v", left)
	}
	var found struct {
		Results []struct{ ID, Link string }
	}
	server.call("POST", "/v1/search", `{"question":"bees dance"}`, 200, &found)
	if first := found.Results[0]; first.ID != web.URL+"/docs/bees.html#1" || !strings.HasPrefix(first.Link, web.URL+"/docs/bees.html#:~:text=Bees%20dance") {
		t.Errorf("a result: %+v", first)
	}

	web.change(func() {
		web.texts["/docs/bees.html"] = text("Bees do not dance")
		web.texts["/docs/new.html"] = text("A new page")
		delete(web.texts, "/docs/rain.html")
	})
	done := read(site).Result.Documents
	if done.Added != 1 || done.Replaced != 1 || done.Removed != 0 || done.Unchanged != 3 || len(web.sent) != 2 {
		t.Errorf("after changes: %+v, sent %q", done, web.sent)
	}
	done = read(site).Result.Documents
	if done.Removed != 1 || slices.Contains(web.ids(server), "/docs/rain.html") {
		t.Errorf("absent twice: %+v", done)
	}
	web.change(func() { web.down = true })
	job = read(site)
	if job.State != jobs.Failed || !strings.Contains(job.Error, "nothing of it is changed") {
		t.Errorf("a site that is down: %+v", job)
	}
	if got := web.ids(server); len(got) != 5 {
		t.Errorf("after the site was down: %q", got)
	}
	// Most of the pages are gone at once: they stay.
	web.change(func() {
		web.down = false
		web.texts = map[string]string{"/docs/": text("The start is another one now")}
	})
	read(site)
	job = read(site)
	if got := web.ids(server); len(got) != 5 || len(job.Result.Warnings) != 1 || !strings.Contains(job.Result.Warnings[0], "they stay") {
		t.Errorf("most pages are gone: %q, %+v", got, job.Result)
	}

	inner := newPages(t, map[string]string{"/": text("Secret"), "/docs/secret.html": text("Secret")})
	web.change(func() {
		web.texts = map[string]string{"/docs/": inner.URL + "/", "/docs/a.html": inner.URL + "/docs/secret.html"}
	})
	for _, url := range []string{inner.URL + "/", "https://elsewhere.example/"} {
		server.post("/v1/documents", "application/json", []byte(fmt.Sprintf(`{"url":%q}`, url)), 403)
	}
	for _, path := range []string{"/docs/", "/docs/a.html"} {
		if job := read(fmt.Sprintf(`{"url":"%s%s","site":true}`, web.URL, path)); job.State != jobs.Failed {
			t.Errorf("a redirect to another host: %+v", job)
		}
	}
	if len(inner.sent) > 0 {
		t.Errorf("%q was asked for", inner.sent)
	}
}

// TestWatchSite follows a site while it changes and while it is down, and goes on after a restart.
func TestWatchSite(t *testing.T) {
	web := newPages(t, map[string]string{
		"/": text("The start"), "/bees.html": text("Bees dance"), "/hours.html": text("Open from nine"),
	})
	s := newSite(t, named("base"), "base")
	s.config.Documents.Site.Look = 20 * time.Millisecond
	s.config.Documents.Site.Rate = 1000
	s.config.Documents.Site.Attempts = 1
	s.watch = []string{web.URL}
	server := s.serve()
	finds := func(question, path string) func() bool {
		return func() bool { return slices.Contains(server.find(question), web.URL+path+"#1") }
	}
	server.until("a page", finds("bees dance", "/bees.html"))
	web.change(func() { web.texts["/parking.html"] = text("Parking is free") })
	server.until("a new page", finds("parking", "/parking.html"))
	web.change(func() { delete(web.texts, "/hours.html") })
	server.until("a page that is gone", func() bool { return !finds("open nine", "/hours.html")() })
	web.change(func() { web.down = true })
	server.until("why it waits", func() bool { return strings.Contains(server.log.String(), "nothing of it is changed") })
	server.end()
	web.change(func() {
		web.down = false
		web.texts["/late.html"] = text("Late at night")
	})
	server = s.serve()
	server.until("a page of meanwhile", finds("late night", "/late.html"))
	if !finds("bees dance", "/bees.html")() {
		t.Error("a page is gone")
	}
	kept, err := filepath.Glob(filepath.Join(s.config.Collection, "sites", "*.json.gz"))
	if err != nil || len(kept) != 1 {
		t.Errorf("%q %v", kept, err)
	}
	var ready json.RawMessage
	server.call("GET", "/readyz", "", 200, &ready)
}

// TestBusySite: while a page of a site is busy, the job that reads it says so, with the time after which it asks again;
// it can be cancelled meanwhile.
func TestBusySite(t *testing.T) {
	web := newPages(t, map[string]string{"/docs/": text("The start"), "/docs/bees.html": text("Bees dance")})
	web.busy = "/docs/bees.html"
	s := newSite(t, named("base"), "base")
	s.config.Documents.Hosts = []string{web.host()}
	s.config.Documents.Networks = []string{"127.0.0.1/32"}
	s.config.Documents.Site.Rate = 1000
	server := s.serve()
	body := fmt.Sprintf(`{"url":"%s/docs/","site":true}`, web.URL)
	at := server.post("/v1/documents", "application/json", []byte(body), 202).Get("Location")
	var job jobs.Job
	server.until("the job waits", func() bool {
		server.call("GET", at, "", 200, &job)
		return job.State.Ended() || job.Progress != nil && job.Progress.Note != ""
	})
	want := web.URL + "/docs/bees.html: it answers with 503 Service Unavailable; asking again in 3m20s"
	if job.Progress == nil || job.Progress.Note != want || job.Progress.Stage != "reading the site" {
		t.Errorf("%+v, progress %+v; want the note %q", job, job.Progress, want)
	}
	server.call("DELETE", at, "", 200, nil)
	server.until("the job ends", func() bool {
		server.call("GET", at, "", 200, &job)
		return job.State.Ended()
	})
	if job.State != jobs.Cancelled {
		t.Errorf("%+v", job)
	}
}
