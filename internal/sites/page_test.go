package sites

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestScanPage: links and directions are found wherever they stand, and not where a browser would not see them.
func TestScanPage(t *testing.T) {
	s := scanPage([]byte(`<!doctype html><html><head><title>Not counted</title><base href="/docs/"><base href="/other/">
		<link rel="stylesheet" href="a.css"><link rel="Canonical alternate" href="x"><link rel="canonical" href="y">
		<link rel=next href=n><meta name="ROBOTS" content="NoFollow , noarchive"><meta name=googlebot content=noindex>
		<style>p { color: red }</style><script>var words = "<a href='script'>x</a>"</script></head>
		<body>One two <b>three</b> <!-- <a href="comment">x</a> --><a href=" a.html ">four</a><a>five</a>
		<a href="#top">six</a><A HREF='b.html?x=1&amp;y=2' REL="external NoFollow">seven</A><area href=c.html>
		<noscript><a href="noscript">x</a></noscript><template>x</template><iframe src="frame.html"></iframe>
		<a href="d.html" href="e.html">eight</a><a href="broken>`), product)
	if want := []string{"n", "a.html", "c.html", "frame.html", "d.html"}; !slices.Equal(s.links, want) {
		t.Errorf("links %q, want %q", s.links, want)
	}
	if s.base != "/docs/" || s.canonical != "x" || s.noIndex || !s.noFollow || s.words != 8 || s.scripts != 1 {
		t.Errorf("%+v", s)
	}
	if !s.isScripted() || (&scanned{scripts: 3, words: 200}).isScripted() || (&scanned{words: 3}).isScripted() {
		t.Error("which pages are built by scripts")
	}
	a := scanPage([]byte("<p>The same  <b>text</b><a href=1>"), product)
	b := scanPage([]byte("The\nsame text<a href=2>"), product)
	if a.text != b.text || a.text == s.text {
		t.Error("texts are told apart by more than their words, or by less")
	}
	deep := scanPage([]byte(strings.Repeat("<div><a href=x>", 200_000)), product)
	if len(deep.links) != mostLinks {
		t.Errorf("%d links", len(deep.links))
	}
}

// TestDirectHeader: directions count that are for all readers or for this one.
func TestDirectHeader(t *testing.T) {
	for text, want := range map[string][2]bool{
		"X-Robots-Tag: noindex":                                     {true, false},
		"X-Robots-Tag: nofollow, noarchive":                         {false, true},
		"X-Robots-Tag: none":                                        {true, true},
		"X-Robots-Tag: googlebot: noindex":                          {false, false},
		"X-Robots-Tag: Conclave: noindex, nofollow":                 {true, true},
		"X-Robots-Tag: noarchive\nX-Robots-Tag: noindex":            {true, false},
		"X-Robots-Tag: unavailable_after: 25 Jun 2027 15:00:00 GMT": {false, false},
		"X-Other: noindex":                                          {false, false},
	} {
		var s scanned
		s.directHeader(headerOf(text), product)
		if s.noIndex != want[0] || s.noFollow != want[1] {
			t.Errorf("%q: %+v", text, s)
		}
	}
	for text, want := range map[string]string{
		`Link: <https://a.example/x>; rel="canonical"`:                                     "https://a.example/x",
		`Link: </style.css>; rel=preload; as=style, </y>; type="text/html"; rel=canonical`: "/y",
		`Link: </z>; rel="next"`: "",
	} {
		var s scanned
		s.directHeader(headerOf(text), product)
		if s.canonical != want {
			t.Errorf("%q: %q, want %q", text, s.canonical, want)
		}
	}
}

// headerOf returns the header of some lines.
func headerOf(lines string) http.Header {
	h := http.Header{}
	for line := range strings.SplitSeq(lines, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

// TestParseSitemap reads the forms that sitemaps have, damaged and hostile ones among them.
func TestParseSitemap(t *testing.T) {
	for _, c := range []struct {
		name, text string
		pages      []string
		maps       []string
		damaged    bool
	}{
		{"pages", `<?xml version="1.0" encoding="ISO-8859-1"?><urlset><url><loc> https://a/x?a=1&amp;b=2 </loc><lastmod>2026-01-01</lastmod></url><url><priority>1</priority><loc>https://a/y</loc></url></urlset>`, []string{"https://a/x?a=1&b=2 2026-01-01", "https://a/y "}, nil, false},
		{"with prefixes and pictures", `<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="i"><s:url><s:loc>https://a/x</s:loc><image:image><image:loc>https://a/p.png</image:loc></image:image></s:url></s:urlset>`, []string{"https://a/x "}, nil, false},
		{"an index", "\xEF\xBB\xBF\n<sitemapindex><sitemap><loc>https://a/1.xml.gz</loc></sitemap></sitemapindex>", nil, []string{"https://a/1.xml.gz"}, false},
		{"a text", "https://a/x\r\nhttps://a/y\n\n", []string{"https://a/x ", "https://a/y "}, nil, false},
		{"cut", `<urlset><url><loc>https://a/x</loc></url><url><loc>https://a/`, []string{"https://a/x "}, nil, true},
		{"a page of HTML", `<!doctype html><html><body><p>Not found</body></html>`, nil, nil, false},
		{"entities", `<!DOCTYPE u [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><urlset><url><loc>https://a/&b;</loc></url></urlset>`, []string{"https://a/&b; "}, nil, false},
		{"nothing", "", nil, nil, false},
	} {
		for _, packed := range []bool{false, true} {
			text := c.text
			if packed {
				text = zipped(text)
			}
			s, err := parseSitemap([]byte(text))
			var pages []string
			for _, p := range s.pages {
				pages = append(pages, p.address+" "+p.changed)
			}
			if !slices.Equal(pages, c.pages) || !slices.Equal(s.sitemaps, c.maps) || (err != nil) != c.damaged {
				t.Errorf("%s: %q %q %v", c.name, pages, s.sitemaps, err)
			}
		}
	}
	many := "<urlset>" + strings.Repeat("<url><loc>/a</loc></url>", mostInSitemap+10)
	if s, _ := parseSitemap([]byte(many)); len(s.pages) != mostInSitemap {
		t.Errorf("%d pages", len(s.pages))
	}
	var large *TooLargeError
	if _, err := parseSitemap([]byte(zipped(strings.Repeat(" ", sitemapBytes+1)))); !errors.As(err, &large) {
		t.Errorf("a sitemap of more than 50 MiB: %v", err)
	}
	for text, want := range map[string]time.Time{
		"2026-03-04":                time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC),
		"2026-03-04T05:06:07+01:00": time.Date(2026, 3, 4, 4, 6, 7, 0, time.UTC),
		"2026-03-04T05:06Z":         time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC),
		"2026-03":                   time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		"yesterday":                 {},
	} {
		if got := parseChanged(text); !got.Equal(want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
