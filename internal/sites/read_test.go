package sites

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/disk"
)

// TestReadLinks follows the links of a site with everything that can be wrong with one, and compares what was read and
// what was left out, by reason, with what the site is.
func TestReadLinks(t *testing.T) {
	s := newTestSite(t)
	s.text("/robots.txt", "text/plain", "User-agent: *\nDisallow: /docs/private/\n")
	s.html("/docs/", "", words("start", 30)+`
		<a href="a.html">a</a> <a href="./a.html#part">again</a> <a href="/docs/sub/../b.html">b</a>
		<a href="private/x.html">private</a> <a href="/blog/">outside</a> <a href="https://elsewhere.example/">elsewhere</a>
		<a href="gone.html">gone</a> <a href="hidden.html">hidden</a> <a href="old.html">old</a>
		<a href="copy.html">copy</a> <a href="picture.png">picture</a> <a href="mailto:a@example.org">mail</a>
		<a href="javascript:void(0)">script</a> <a rel="nofollow" href="unfollowed.html">x</a>
		<a href="print.html">print</a> <a href="huge.txt">huge</a> <a href="file:///etc/passwd">file</a>
		<a href="tofile.html">f</a> <a href="http://user:secret@`+strings.TrimPrefix(s.URL, "http://")+`/docs/c.html">c</a>`)
	s.html("/docs/a.html", "", words("a", 30)+`<a href="a.html">itself</a><a href="b.html">loop</a>`)
	s.html("/docs/b.html", "", words("b", 30)+`<a href="a.html">loop</a>`)
	s.html("/docs/hidden.html", `<meta name="robots" content="noindex">`, words("hidden", 30)+`<a href="behind.html">on</a>`)
	s.html("/docs/behind.html", `<meta name="Robots" content="none">`, words("behind", 30)+`<a href="never.html">on</a>`)
	s.html("/docs/never.html", "", words("never", 30))
	s.html("/docs/unfollowed.html", "", words("unfollowed", 30))
	s.status("/docs/old.html", 301, "Location", "new.html")
	s.html("/docs/new.html", "", words("new", 30))
	s.html("/docs/copy.html", "", words("b", 30)+`<a href="copy.html">loop</a>`)
	s.html("/docs/print.html", `<link rel="canonical" href="/docs/a.html">`, words("printed", 30))
	s.text("/docs/picture.png", "image/png", "\x89PNG")
	s.text("/docs/huge.txt", "text/plain", strings.Repeat("x", 1<<20+1))
	s.status("/docs/tofile.html", 302, "Location", "file:///etc/passwd")
	r, got := s.read(t, s.options(t, "/docs/"))
	if want := []string{"/docs/", "/docs/a.html", "/docs/b.html", "/docs/new.html"}; !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	for reason, want := range map[string]int{
		LeftRobots: 1, LeftOutside: 3, LeftAbsent: 1, LeftNoIndex: 2, LeftRedirect: 1, LeftDuplicate: 1, LeftCanonical: 1,
		LeftType: 1, LeftLarge: 1, LeftAddress: 1,
	} {
		if n := leftOf(r, reason); n != want {
			t.Errorf("left out as %s: %d, want %d (%v)", reason, n, want, r.Left)
		}
	}
	if s.count("/docs/private/x.html")+s.count("/docs/unfollowed.html")+s.count("/docs/never.html") > 0 {
		t.Error("a page was asked for that may not be")
	}
	for _, l := range r.Left {
		if strings.Contains(l.String(), "secret") {
			t.Errorf("a password is shown: %s", l)
		}
	}
	if len(r.Failed) > 0 {
		t.Errorf("failed: %v", r.Failed)
	}
}

// TestReadSitemap reads a site of a thousand pages by an index of sitemaps, one of them packed, and none of its links.
func TestReadSitemap(t *testing.T) {
	s := newTestSite(t)
	s.text("/robots.txt", "text/plain", "Sitemap: "+s.URL+"/maps/index.xml\nUser-agent: conclave\nDisallow: /p7.html\n")
	s.text("/maps/index.xml", "application/xml", `<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
		<sitemap><loc>`+s.URL+`/maps/1.xml.gz</loc></sitemap><sitemap><loc>/maps/2.xml</loc></sitemap>
		<sitemap><loc>`+s.URL+`/maps/index.xml</loc></sitemap></sitemapindex>`)
	var maps [2]strings.Builder
	for i := range 1000 {
		path := fmt.Sprintf("/p%d.html", i)
		s.html(path, "", words(fmt.Sprintf("p%d-", i), 30)+`<a href="/unlisted.html">x</a>`)
		_, _ = fmt.Fprintf(&maps[i%2], "<url><loc>%s%s</loc><lastmod>2026-04-%02d</lastmod></url>", s.URL, path, 1+i%30)
	}
	s.html("/unlisted.html", "", words("unlisted", 30))
	s.html("/", "", words("start", 30)+`<a href="/unlisted.html">x</a>`)
	s.text("/maps/1.xml.gz", "application/gzip", zipped("<urlset>"+maps[0].String()+"</urlset>"))
	s.text("/maps/2.xml", "text/xml", "<urlset>"+maps[1].String()+"</urlset>")
	o := s.options(t, "/")
	o.Connections = 4
	r, got := s.read(t, o)
	if len(got) != 1000 || slices.Contains(got, "/p7.html") || slices.Contains(got, "/unlisted.html") {
		t.Errorf("%d pages: %q …", len(got), got[:3])
	}
	if leftOf(r, LeftRobots) != 1 || len(r.Warnings) > 0 || len(r.Failed) > 0 {
		t.Errorf("%v %v %v", r.Left, r.Warnings, r.Failed)
	}

	// Pages whose lastmod is the same are not asked for again; one whose lastmod changed is, and so is one after a
	// week.
	s.mu.Lock()
	s.asked = nil
	s.mu.Unlock()
	o = s.options(t, "/")
	for _, path := range got {
		o.Had = append(o.Had, s.URL+path)
	}
	o.Before = r.Memory
	changes := strings.Replace(maps[1].String(), "2026-04-02", "2026-05-01", 1)
	s.text("/maps/2.xml", "text/xml", "<urlset>"+changes+"</urlset>")
	again, changed := s.read(t, o)
	o = s.options(t, "/")
	for _, path := range got {
		o.Had = append(o.Had, s.URL+path)
	}
	o.Before = again.Memory
	later := &waits{now: o.Clock.Now().Add(8 * 24 * time.Hour)}
	o.Clock = later.clock()
	if weekly, sent := s.read(t, o); len(sent) != 0 || len(weekly.Unchanged) != 1000 || s.count("/p3.html") != 1 {
		t.Errorf("after a week: %d pages, %d unchanged, %d requests", len(sent), len(weekly.Unchanged), s.count("/p3.html"))
	}
	if len(changed) != 0 || len(again.Unchanged) != 1000 || s.count("/p1.html") != 2 {
		t.Errorf("%d pages, %d unchanged, %d requests", len(changed), len(again.Unchanged), s.count("/p1.html"))
	}
}

// TestReadLoneSitemap: a sitemap that lists the start alone, or nothing of the site, lists nothing: links are followed.
func TestReadLoneSitemap(t *testing.T) {
	for _, listed := range []string{"/docs/", "/blog/a.html", "https://elsewhere.example/docs/b.html"} {
		s := newTestSite(t)
		s.html("/docs/", "", words("start", 30)+`<a href="a.html">a</a>`)
		s.html("/docs/a.html", "", words("a", 30))
		s.html("/blog/a.html", "", words("blog", 30))
		s.text("/sitemap.xml", "text/xml", "<urlset><url><loc>"+listed+"</loc></url></urlset>")
		if _, got := s.read(t, s.options(t, "/docs/")); !slices.Equal(got, []string{"/docs/", "/docs/a.html"}) {
			t.Errorf("%s: %q", listed, got)
		}
	}
}

// TestReadAgain goes through a site that changes, with the memory of the readings before: unchanged pages are not sent,
// a page is gone when it was absent twice, and what could not be asked for stays.
func TestReadAgain(t *testing.T) {
	s := newTestSite(t)
	s.html("/", "", words("start", 30)+`<a href="/a">a</a><a href="/b">b</a><a href="/c">c</a><a href="/d">d</a>`)
	for _, name := range []string{"a", "b", "c", "d"} {
		s.html("/"+name, "", words(name, 30))
	}
	o := s.options(t, "/")
	r, got := s.read(t, o)
	if len(got) != 5 {
		t.Fatalf("first: %q", got)
	}
	again := func() (*Reading, []string, []string) {
		t.Helper()
		path := MemoryPath(t.TempDir(), "mark")
		if err := r.Memory.Save(disk.OS{}, path); err != nil {
			t.Fatal(err)
		}
		o := s.options(t, "/")
		var err error
		o.Before, err = LoadMemory(disk.OS{}, path)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range got {
			o.Had = append(o.Had, s.URL+path)
		}
		var pages []string
		r, pages = s.read(t, o)
		var kept []string
		for _, address := range r.Kept {
			kept = append(kept, strings.TrimPrefix(address, s.URL))
		}
		return r, pages, kept
	}
	if r, pages, kept := again(); len(pages) != 0 || len(r.Unchanged) != 5 || len(kept) != 0 {
		t.Errorf("unchanged: %q %q %q", pages, r.Unchanged, kept)
	}
	s.html("/b", "", words("new", 31))
	s.set("/c", nil)
	s.status("/d", 503)
	r, pages, kept := again()
	if !slices.Equal(pages, []string{"/b"}) || len(r.Unchanged) != 2 || !slices.Equal(kept, []string{"/c", "/d"}) ||
		len(r.Failed) != 1 {
		t.Errorf("changed: %q %q %q %v", pages, r.Unchanged, kept, r.Failed)
	}
	r, _, kept = again()
	if !slices.Equal(kept, []string{"/d"}) {
		t.Errorf("absent twice: kept %q", kept)
	}
	// A page that no link leads to any more is asked for, and stays while it is there.
	s.html("/", "", words("other", 30))
	r, pages, kept = again()
	if !slices.Equal(pages, []string{"/"}) || !slices.Contains(r.Unchanged, s.URL+"/a") || !slices.Contains(kept, "/d") {
		t.Errorf("without links: %q %q %q", pages, r.Unchanged, kept)
	}
	// A site that is down says nothing of its pages.
	for _, trouble := range []func(){
		func() { s.status("/robots.txt", 500) },
		func() { s.set("/robots.txt", nil); s.status("/", 502) },
		func() { s.Close() },
	} {
		trouble()
		var down *DownError
		if _, err := Read(t.Context(), s.options(t, "/")); !errors.As(err, &down) {
			t.Errorf("a site that is down: %v", err)
		}
	}
}

// TestReadTraps reads a site with a calendar without end, with ids of sessions in queries, and with paths that grow: it
// ends, and has each real page once.
func TestReadTraps(t *testing.T) {
	s := newTestSite(t)
	session := 0
	s.set("/shop/?", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		session++
		id := session
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		item := r.URL.Query().Get("item")
		_, _ = fmt.Fprint(w, words("shop"+item, 30))
		for i := range 12 {
			_, _ = fmt.Fprintf(w, `<a href="/shop/?item=%d&token=%d">x</a>`, i, id)
		}
	})
	s.set("/calendar?", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		month := 0
		_, _ = fmt.Sscan(r.URL.Query().Get("m"), &month)
		_, _ = fmt.Fprintf(w, `%s<a href="?m=%d">next</a>`, words(fmt.Sprint("month", month, "-"), 30), month+1)
	})
	s.html("/", "", words("start", 30)+`<a href="/shop/">shop</a><a href="/calendar">calendar</a><a href="/deep/">deep</a>`)
	deep := `<a href="deeper/">on</a>`
	for i := range 30 {
		s.html("/deep/"+strings.Repeat("deeper/", i), "", words("deep", 30)+deep)
	}
	o := s.options(t, "/")
	o.Depth = 5
	r, got := s.read(t, o)
	items := map[string]int{}
	months := 0
	for _, path := range got {
		if query, is := strings.CutPrefix(path, "/shop/"); is {
			item, _, _ := strings.Cut(strings.TrimPrefix(query, "?item="), "&")
			items[item]++
		}
		if strings.HasPrefix(path, "/calendar") {
			months++
		}
	}
	for item, n := range items {
		if n != 1 {
			t.Errorf("item %s is there %d times", item, n)
		}
	}
	if len(items) != 13 || months != 5 || len(got) != 1+13+5+1 {
		t.Errorf("%d items, %d months: %q", len(items), months, got)
	}
	if s.count("/deep/deeper/deeper/") != 0 {
		t.Error("the links of a copy are followed")
	}
	if n := len(s.asked); n > 120 {
		t.Errorf("%d requests", n)
	}
	if leftOf(r, LeftDepth) == 0 {
		t.Errorf("nothing is said of the depth: %v", r.Left)
	}
}

// TestReadBusy reads a site that is busy: it waits as long as the site asks for, and gives up where that is too long.
func TestReadBusy(t *testing.T) {
	s := newTestSite(t)
	times := map[string]int{}
	busy := func(header string, status, often int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			times[r.URL.Path]++
			n := times[r.URL.Path]
			s.mu.Unlock()
			if n > often {
				_, _ = fmt.Fprint(w, "<html>"+words(r.URL.Path, 30))
				return
			}
			if header != "" {
				w.Header().Set("Retry-After", header)
			}
			w.WriteHeader(status)
		}
	}
	s.text("/robots.txt", "text/plain", "User-agent: conclave\nCrawl-delay: 3\n")
	s.html("/", "", words("start", 30)+`<a href="/429">a</a><a href="/500">b</a><a href="/long">c</a><a href="/broken">d</a>`)
	s.set("/429", busy("17", 429, 2))
	s.set("/500", busy("", 500, 3))
	s.set("/long", busy("86400", 503, 9))
	s.set("/broken", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	o := s.options(t, "/")
	o.IsReadable = func(string, string) bool { return true }
	c := &waits{now: time.Unix(0, 0)}
	o.Clock = c.clock()
	var told []string
	o.Waiting = func(address string, pause time.Duration, reason string) {
		if strings.HasSuffix(address, "/429") && pause >= 17*time.Second {
			told = append(told, reason)
		}
	}
	r, got := s.read(t, o)
	if busy := "it answers with 429 Too Many Requests"; !slices.Equal(told, []string{busy, busy}) {
		t.Errorf("told of %q", told)
	}
	if want := []string{"/", "/429", "/500"}; !slices.Equal(got, want) || len(r.Failed) != 2 {
		t.Errorf("read %q, failed %v", got, r.Failed)
	}
	if times["/long"] != 1 || s.count("/broken") < o.Attempts {
		t.Errorf("%d and %d attempts", times["/long"], s.count("/broken"))
	}
	long := 0
	for _, d := range c.slept {
		if d == 17*time.Second {
			long++
		}
	}
	if long != 2 {
		t.Errorf("Retry-After was obeyed %d times: %v", long, c.slept)
	}
	// Crawl-delay: between two requests lie 3 s, since robots.txt was read.
	if !slices.ContainsFunc(c.slept, func(d time.Duration) bool { return d == 3*time.Second }) {
		t.Errorf("no pause of 3 s: %v", c.slept)
	}
}

// TestReach: no page is fetched from an address that is not public and not allowed, whether it is named, resolved, or
// redirected to.
func TestReach(t *testing.T) {
	inner := newTestSite(t)
	inner.html("/", "", words("secret", 30))
	port := inner.Listener.Addr().(*net.TCPAddr).Port
	for _, start := range []string{
		"http://127.0.0.1:%d/", "http://[::ffff:127.0.0.1]:%d/", "http://localhost:%d/", "http://0.0.0.0:%d/",
	} {
		address := fmt.Sprintf(start, port)
		u, err := ParseAddress(address)
		if err != nil {
			t.Fatal(err)
		}
		o := inner.options(t, "/")
		o.Start = u
		o.Reach = Reach{AnyHost: true}
		_, err = Read(t.Context(), o)
		var refused *NetworkError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if len(inner.asked) > 0 {
		t.Errorf("asked for %q", inner.asked)
	}

	outer := newTestSite(t) // may be asked, since its address is
	outer.html("/", "", words("start", 30)+`<a href="/in">in</a>`)
	outer.status("/in", 302, "Location", fmt.Sprintf("http://localhost:%d/", port))
	outer.status("/start", 302, "Location", fmt.Sprintf("http://[::1]:%d/", port))
	if _, got := outer.read(t, outer.options(t, "/")); !slices.Equal(got, []string{"/"}) {
		t.Errorf("read %q", got)
	}
	var refused *NetworkError
	if _, err := Read(t.Context(), outer.options(t, "/start")); !errors.As(err, &refused) {
		t.Errorf("a start that leads elsewhere: %v", err)
	}
	o := outer.options(t, "/")
	o.Reach.AnyHost = false
	o.Reach.Hosts = []string{"docs.example.org", "*.example.com"}
	var host *HostError
	if _, err := Read(t.Context(), o); !errors.As(err, &host) {
		t.Errorf("a host that is not allowed: %v", err)
	}
	if len(inner.asked) > 0 {
		t.Errorf("asked for %q", inner.asked)
	}
}
