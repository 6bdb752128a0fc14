package sites

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// mostAddressBytes bounds an address that is read.
const mostAddressBytes = 2000

// IsAddress reports whether a text is the address of a page or site, by its scheme: http or https.
func IsAddress(text string) bool {
	scheme, _, found := strings.Cut(text, "://")
	return found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// ParseAddress returns the address of a page in the form that ids have (normalise). It returns an error for people if
// the text is no address, of another scheme than http and https, or has a user or password in it; the error never
// shows these.
func ParseAddress(text string) (*url.URL, error) {
	u, err := (&url.URL{}).Parse(strings.TrimSpace(text)) // without dot segments
	if err != nil {
		return nil, errors.New("the address cannot be read: write it like https://docs.example.org/")
	}
	if u.User != nil {
		return nil, errors.New("the address has a user or a password in it, which would be in ids and logs: leave them out")
	}
	if err := normalise(u); err != nil {
		return nil, fmt.Errorf("the address %.100q %w", u.Redacted(), err)
	}
	return u, nil
}

// normalise changes an absolute address to the one form in which it is compared and used as an id: scheme and host in
// lower case, the host in ASCII, no default port, no fragment, and escapes only where they are needed. The error
// continues "the address …" and says why the address cannot be read.
func normalise(u *url.URL) error {
	u.Scheme = strings.ToLower(u.Scheme)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("does not begin with http:// or https://")
	case u.User != nil:
		return errors.New("has a user or a password in it")
	case u.Hostname() == "" || u.Opaque != "":
		return errors.New("names no host")
	}
	host, err := hostOf(strings.ToLower(u.Hostname()))
	if err != nil {
		return err
	}
	if port := u.Port(); port != "" && port != defaultPort(u.Scheme) {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return errors.New("has a port beyond 65535")
		}
		host += ":" + port
	}
	u.Host = host
	u.Fragment, u.RawFragment = "", ""
	if u.RawQuery != "" {
		u.RawQuery = normaliseEscapes(u.RawQuery, queryCharacters)
	}
	u.ForceQuery = false
	if err := normalisePath(u); err != nil {
		return err
	}
	if n := len(u.String()); n > mostAddressBytes {
		return fmt.Errorf("has %d bytes, more than %d", n, mostAddressBytes)
	}
	return nil
}

// hostOf returns a host in ASCII: a name, an address of IPv4, or one of IPv6 in brackets and without a zone. The error
// continues "the address …".
func hostOf(name string) (string, error) {
	if a, err := netip.ParseAddr(name); err == nil && a.Is6() {
		return "[" + a.WithZone("").String() + "]", nil
	}
	if ascii, err := idna.Lookup.ToASCII(name); err == nil {
		return ascii, nil
	}
	for i := range len(name) { // such as a name with _
		if !isAlphanumeric(name[i]) && strings.IndexByte(unreserved, name[i]) < 0 {
			return "", errors.New("names a host that cannot be")
		}
	}
	return name, nil
}

// defaultPort returns the port of a scheme, http or https.
func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// normalisePath changes the path of an address as normalise says. It fails if the path has an invalid escape.
func normalisePath(u *url.URL) error {
	escaped := normaliseEscapes(u.EscapedPath(), pathCharacters)
	if escaped == "" {
		escaped = "/"
	}
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		return errors.New("has an invalid escape in its path")
	}
	u.Path, u.RawPath = plain, escaped
	clean := (&url.URL{}).ResolveReference(u) // without dot segments, some of which were escaped
	u.Path, u.RawPath = clean.Path, clean.RawPath
	return nil
}

// The characters beside letters and digits that stand as they are in a path and in a query. The others of these that
// are escaped stay escaped, since a server may tell them apart.
const (
	unreserved      = "-._~"
	pathCharacters  = unreserved + "/!$&'()*+,;=:@"
	queryCharacters = pathCharacters + "?[]"
)

// normaliseEscapes returns a path or query in which letters, digits and unreserved characters are not escaped, escapes
// have capital letters, and every byte that is in none of the plain characters is escaped.
func normaliseEscapes(text, plain string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2]) {
			value := unhex(text[i+1])<<4 | unhex(text[i+2])
			if isAlphanumeric(value) || strings.IndexByte(unreserved, value) >= 0 {
				out.WriteByte(value)
			} else {
				_, _ = fmt.Fprintf(&out, "%%%02X", value)
			}
			i += 2
			continue
		}
		if isAlphanumeric(c) || strings.IndexByte(plain, c) >= 0 {
			out.WriteByte(c)
		} else {
			_, _ = fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

// isAlphanumeric reports whether a byte is a letter or digit of ASCII.
func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// isHex reports whether a byte is a hexadecimal digit.
func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

// unhex returns the value of a hexadecimal digit.
func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// site is the part of the web that a reading stays in: the pages of one host below one folder.
type site struct {
	start        *url.URL
	scheme, host string
	folder       string // path with escapes, ending in a slash
}

// siteOf returns the site of a start address: its host, below the folder of its path.
func siteOf(start *url.URL) site {
	p := start.EscapedPath()
	return site{start, start.Scheme, start.Host, p[:strings.LastIndexByte(p, '/')+1]}
}

// resolve returns the address of a link that stands on the page base, normalised. An address of the site's host has the
// site's scheme, if both have the default port: many sites of https link to themselves with http. The error continues
// "the address …".
func (s site) resolve(base *url.URL, link string) (*url.URL, error) {
	u, err := base.Parse(strings.TrimSpace(link))
	if err != nil {
		return nil, errors.New("is no address")
	}
	if err := normalise(u); err != nil {
		return nil, err
	}
	if u.Host == s.host && u.Port() == "" {
		u.Scheme = s.scheme
	}
	return u, nil
}

// holds reports whether a normalised address belongs to the site.
func (s site) holds(u *url.URL) bool {
	return s.isHost(u) && strings.HasPrefix(u.EscapedPath(), s.folder)
}

// isHost reports whether a normalised address is on the site's host.
func (s site) isHost(u *url.URL) bool { return u.Scheme == s.scheme && u.Host == s.host }

// root returns the address of a path on the site's host, such as /robots.txt.
func (s site) root(path string) *url.URL { return &url.URL{Scheme: s.scheme, Host: s.host, Path: path} }

// pathAndQuery returns what rules of robots.txt and patterns are compared with: the path and query of an address.
func pathAndQuery(u *url.URL) string {
	if u.RawQuery == "" {
		return u.EscapedPath()
	}
	return u.EscapedPath() + "?" + u.RawQuery
}

// A Pattern selects addresses by their path and query, as the rules of robots.txt do: it matches where they begin with
// it; * stands for any characters, and a $ at its end for their end.
type Pattern string

// matcher is a Pattern in the form in which it is compared often.
type matcher struct {
	parts []string // between the stars; the first begins the path
	whole bool     // the last one ends it
	bytes int      // of the pattern
}

// newMatcher returns the matcher of a pattern. Stars in a row count as one.
func newMatcher(p Pattern) matcher {
	text, whole := strings.CutSuffix(string(p), "$")
	m := matcher{whole: whole, bytes: len(p)}
	for i, part := range strings.Split(text, "*") {
		if i == 0 || part != "" {
			m.parts = append(m.parts, part)
		}
	}
	if strings.HasSuffix(text, "*") {
		m.whole = false // whatever follows
	}
	return m
}

// match reports whether the pattern matches a path and query.
func (m *matcher) match(text string) bool {
	if !strings.HasPrefix(text, m.parts[0]) {
		return false
	}
	text = text[len(m.parts[0]):]
	for i, part := range m.parts[1:] {
		if m.whole && i == len(m.parts)-2 {
			return strings.HasSuffix(text, part)
		}
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return !m.whole || text == ""
}

// matchersOf returns the matchers of patterns.
func matchersOf(patterns []Pattern) (out []matcher) {
	for _, p := range patterns {
		out = append(out, newMatcher(p))
	}
	return out
}

// matchesAny reports whether one of the patterns matches an address.
func matchesAny(patterns []matcher, u *url.URL) bool {
	text := pathAndQuery(u)
	for i := range patterns {
		if patterns[i].match(text) {
			return true
		}
	}
	return false
}
