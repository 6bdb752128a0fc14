package sites

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPattern has the examples of Google's documentation of robots.txt, of what each pattern matches and does not.
func TestPattern(t *testing.T) {
	for pattern, paths := range map[string][2][]string{
		"/":            {{"/", "/any"}, {}},
		"/$":           {{"/"}, {"/any", "/?a"}},
		"/fish":        {{"/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fish.php?id=anything"}, {"/Fish.asp", "/catfish", "/?id=fish", "/desert/fish"}},
		"/fish*":       {{"/fish", "/fishheads/yummy.html"}, {"/Fish.asp", "/catfish"}},
		"/fish/":       {{"/fish/", "/fish/?id=anything", "/fish/salmon.htm"}, {"/fish", "/fish.html", "/animals/fish/"}},
		"/*.php":       {{"/index.php", "/filename.php", "/folder/filename.php?parameters", "/folder/any.php.file.html", "/filename.php/"}, {"/", "/windows.PHP"}},
		"/*.php$":      {{"/filename.php", "/folder/filename.php", "/a.php.php"}, {"/filename.php?parameters", "/filename.php/", "/filename.php5", "/windows.PHP"}},
		"/fish*.php":   {{"/fish.php", "/fishheads/catfish.php?parameters"}, {"/Fish.PHP"}},
		"/a*b*c$":      {{"/abc", "/abcbc", "/axbxc"}, {"/abcb", "/acb"}},
		"/x*x$":        {{"/xx", "/xax"}, {"/x"}},
		"*.pdf$":       {{"/a.pdf", "/b/c.pdf"}, {"/a.pdfx"}},
		"/a/*/d":       {{"/a/b/d", "/a/b/c/d/e"}, {"/a/d"}},
		"/******a$":    {{"/a", "/ba"}, {"/ab"}},
		"/a*$":         {{"/a", "/abc"}, {"/"}},
		"$":            {{}, {"/"}},
		"*":            {{"/", "/a"}, {}},
		"*$":           {{"/", "/a"}, {}},
		"/calendar?m=": {{"/calendar?m=3"}, {"/calendar"}},
	} {
		for i, all := range paths {
			for _, path := range all {
				m := newMatcher(Pattern(pattern))
				if got := m.match(path); got != (i == 0) {
					t.Errorf("%s matches %s: %v", pattern, path, got)
				}
			}
		}
	}
	m := newMatcher(Pattern(strings.Repeat("*a", 5000)))
	if m.match("/" + strings.Repeat("a", 4999)) {
		t.Error("a pattern with more letters than the path matches")
	}
}

// TestRobots has what RFC 9309 says of groups, and of which rule decides.
func TestRobots(t *testing.T) {
	for _, c := range []struct {
		name, text     string
		allows, denies []string
	}{
		{"no file", "", []string{"/", "/a"}, nil},
		{"empty rule", "User-agent: *\nDisallow:\n", []string{"/", "/a"}, nil},
		{"all", "User-agent: *\nDisallow: /\n", nil, []string{"/", "/a"}},
		{"the longest decides", "User-agent: *\nAllow: /p\nDisallow: /\n", []string{"/page"}, []string{"/a"}},
		{"in any order", "User-agent: *\nDisallow: /folder\nAllow: /folder/page\n", []string{"/folder/page"}, []string{"/folder/other"}},
		{"of equal ones allow", "User-agent: *\nDisallow: /folder\nAllow: /folder\n", []string{"/folder"}, nil},
		{"by length with wildcards", "User-agent: *\nAllow: /page\nDisallow: /*.htm\n", []string{"/page"}, []string{"/page.htm"}},
		{"an own group alone", "User-agent: *\nDisallow: /\nUser-agent: conclave\nDisallow: /a\n", []string{"/b"}, []string{"/a"}},
		{"own groups together", "User-agent: CONCLAVE/2.1\nDisallow: /a\n\nUser-agent: other\nDisallow: /\n\nUser-Agent: Conclave\nDisallow: /b\n", []string{"/c"}, []string{"/a", "/b"}},
		{"not by a part of the name", "User-agent: con\nDisallow: /\n\nUser-agent: conclave-news\nDisallow: /\n", []string{"/a"}, nil},
		{"two agents of one group", "User-agent: a\nUser-agent: conclave\n\nDisallow: /a\n", []string{"/b"}, []string{"/a"}},
		{"a sitemap ends no group", "User-agent: conclave\nSitemap: https://a/b\nUser-agent: b\nDisallow: /a\n", nil, []string{"/a"}},
		{"rules without a group", "Disallow: /\nUser-agent: *\nDisallow: /a\n", []string{"/b"}, []string{"/a"}},
		{"an own group without rules", "User-agent: conclave\n\nUser-agent: *\nCrawl-delay: 1\nDisallow: /a\n", nil, []string{"/a"}},
		{"escapes", "User-agent: *\nDisallow: /%7euser\nDisallow: /é\nDisallow: /a%2fb\n", []string{"/a/b"}, []string{"/~user", "/%C3%A9", "/a%2Fb"}},
		{"line ends and comments", "# all\rUser-agent : * # us\r\nDisallow : /a # private\r", []string{"/b"}, []string{"/a"}},
		{"a mark and rubbish", "\xEF\xBB\xBFUser-agent: *\nrubbish\x00\xff\nDisallow: /a\n<html>", []string{"/b"}, []string{"/a"}},
	} {
		r := parseRobots([]byte(c.text), product)
		for _, path := range c.allows {
			if !r.allows(path) {
				t.Errorf("%s: %s is not allowed", c.name, path)
			}
		}
		for _, path := range c.denies {
			if r.allows(path) {
				t.Errorf("%s: %s is allowed", c.name, path)
			}
		}
	}
	for text, want := range map[string]time.Duration{
		"User-agent: *\nCrawl-delay: 2.5\n": 2500 * time.Millisecond, "User-agent: *\nCrawl-delay: -1\n": 0,
		"User-agent: *\nCrawl-delay: 1e9\n": longestDelay, "User-agent: *\nCrawl-delay: NaN\n": 0,
		"User-agent: a\nCrawl-delay: 5\n": 0,
	} {
		if got := parseRobots([]byte(text), product).delay; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	maps := parseRobots([]byte("Sitemap: /a.xml\nUser-agent: x\nDisallow: /\nsitemap:https://b/c.xml # c\n"), product).sitemaps
	if !slices.Equal(maps, []string{"/a.xml", "https://b/c.xml"}) {
		t.Errorf("sitemaps: %q", maps)
	}
}

// TestParseAddress: addresses that are the same have one form, and what is no address of the web is refused without
// showing passwords.
func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"https://Docs.Example.ORG":              "https://docs.example.org/",
		"HTTP://a.example:80/x":                 "http://a.example/x",
		"https://a.example:443/x#part":          "https://a.example/x",
		"https://a.example:8443/x?":             "https://a.example:8443/x",
		"https://a.example/a/./b/../c/":         "https://a.example/a/c/",
		"https://a.example/%7euser/%e9%2f":      "https://a.example/~user/%E9%2F",
		"https://a.example/a b/é?q=ü&r=%C3%BC":  "https://a.example/a%20b/%C3%A9?q=%C3%BC&r=%C3%BC",
		"https://a.example/b/%2e%2e/c/%2E":      "https://a.example/c/",
		"https://bücher.example/":               "https://xn--bcher-kva.example/",
		"http://[::1]:8080/a":                   "http://[::1]:8080/a",
		" https://a.example/x?b=2&a=1 ":         "https://a.example/x?b=2&a=1",
		"https://a.example/x?u=https://b/?c#d":  "https://a.example/x?u=https://b/?c",
		"https://a.example//double//slashes":    "https://a.example//double//slashes",
		"https://a.example/semi;colon=1,2:3@4":  "https://a.example/semi;colon=1,2:3@4",
		"https://a.example/%":                   "",
		"file:///etc/passwd":                    "",
		"ftp://a.example/":                      "",
		"https:///path":                         "",
		"https://user:secret@a.example/":        "",
		"javascript:alert(1)":                   "",
		"a.example/x":                           "",
		"https://a.example/" + longText(2000):   "",
		"https://a.example:99999999999999999/x": "",
	} {
		u, err := ParseAddress(text)
		switch {
		case want == "" && err == nil:
			t.Errorf("%s: %s", text, u)
		case err != nil && want != "":
			t.Errorf("%s: %v", text, err)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: a password is shown: %v", text, err)
		case err == nil && u.String() != want:
			t.Errorf("%s: %s, want %s", text, u, want)
		case err == nil:
			if again, err := ParseAddress(u.String()); err != nil || again.String() != want {
				t.Errorf("%s again: %s %v", want, again, err)
			}
		}
	}
}

func longText(n int) string { return strings.Repeat("x", n) }

// TestPublic has an address of each range that IANA has given a special purpose, and public ones beside them.
func TestPublic(t *testing.T) {
	special := []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254", "169.254.169.254",
		"172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
		"198.19.255.255",
		"198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1",
		"64:ff9b::808:808", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "5f00::1",
		"fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
	}
	public := []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255", "198.17.255.255", "198.20.0.0",
		"223.255.255.255",
		"2606:4700::1111", "2a00:1450::1", "2001:4860:4860::8888", "::ffff:8.8.8.8",
	}
	none := Reach{AnyHost: true}
	for _, text := range special {
		if err := none.checkAddress(netip.MustParseAddr(text)); err == nil {
			t.Errorf("%s is reached", text)
		}
	}
	for _, text := range public {
		if err := none.checkAddress(netip.MustParseAddr(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	some := Reach{Networks: parsePrefixes("10.1.0.0/16", "64:ff9b::/96")}
	for text, want := range map[string]bool{
		"10.1.2.3": true, "10.2.0.1": false, "::ffff:10.1.2.3": true, "64:ff9b::808:808": true, "64:ff9b::a01:203": true,
		"64:ff9b::7f00:1": false, "64:ff9b::a02:1": false,
	} {
		if err := some.checkAddress(netip.MustParseAddr(text)); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestHosts: names of hosts are compared whole, with their ports.
func TestHosts(t *testing.T) {
	r := Reach{Hosts: []string{"Docs.example.org", "*.example.com", "b.example:8443"}}
	for address, want := range map[string]bool{
		"https://docs.example.org/": true, "http://docs.example.org/x": true, "https://docs.example.org:8080/": false,
		"https://xdocs.example.org/": false, "https://docs.example.org.evil.example/": false, "https://a.example.com/": true,
		"https://a.b.example.com/": true, "https://example.com/": false, "https://aexample.com/": false,
		"https://b.example:8443/": true, "https://b.example/": false,
	} {
		u, err := ParseAddress(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.CheckHost(u); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
	if none := (Reach{}); none.CheckHost(&url.URL{Scheme: "https", Host: "a.example"}) == nil {
		t.Error("the zero Reach reaches a host")
	}
}
