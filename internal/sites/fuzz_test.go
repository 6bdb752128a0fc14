package sites

import (
	"strings"
	"testing"
)

// FuzzAddress: an address that is taken is of the web, without passwords and fragments, and its form is its own form.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{
		"https://a.example/b?c=d#e", "HTTP://Ä.example:80/%7e/../ü", "http://[::1%25eth0]/", "https://a@b/", "//x", "http://a/%2f..%5c",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseAddress(text)
		if err != nil {
			return
		}
		if u.User != nil || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
			!strings.HasPrefix(u.EscapedPath(), "/") {
			t.Errorf("%q: %s", text, u)
		}
		again, err := ParseAddress(u.String())
		if err != nil || again.String() != u.String() {
			t.Errorf("%q: %s, and again %v, %v", text, u, again, err)
		}
	})
}

// FuzzRobots: no file takes long or is misread as one that allows what its only rule for all forbids.
func FuzzRobots(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /a*b$\nAllow: /\nCrawl-delay: 3\nSitemap: x", "/a/b")
	f.Fuzz(func(t *testing.T, text, path string) {
		r := parseRobots([]byte(text), product)
		r.allows(path)
		comment := strings.NewReplacer("\n", "", "\r", "").Replace(text)
		forbids := parseRobots([]byte("User-agent: *\nDisallow: /\n# "+comment), product)
		if strings.HasPrefix(path, "/") && forbids.allows(path) {
			t.Errorf("%q allows %q", text, path)
		}
	})
}

// FuzzPage: no page and no sitemap breaks its reader.
func FuzzPage(f *testing.F) {
	f.Add([]byte("<a href=x><base href=y><meta name=robots content=noindex><urlset><url><loc>z</loc></url>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := scanPage(data, product)
		if len(s.links) > mostLinks || s.words < 0 {
			t.Errorf("%+v", s)
		}
		m, _ := parseSitemap(data)
		if len(m.pages)+len(m.sitemaps) > mostInSitemap {
			t.Errorf("%d pages", len(m.pages))
		}
	})
}
